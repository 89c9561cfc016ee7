package remoting

import "context"

// UNREGISTER_CLIENT (35): a client leaves one group.

func serveUnregisterClient(ctx context.Context, r *request) ([]byte, error) {
	f := r.fields()
	clientID := f.name("clientID")
	if f.err != nil {
		return nil, f.err
	}
	producers, consumers := string(f.opt("producerGroup")), string(f.opt("consumerGroup"))
	return nil, r.c.e.h.Groups.Unregister(ctx, &r.caller, clientID, producers, consumers)
}
