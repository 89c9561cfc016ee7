package transport

import "context"

// Recaller takes messages back that wait for a time of their own.
type Recaller interface {
	// Recall has a message that waits never delivered, and returns its UNIQ_KEY. A handle that nothing waits for is no error: nobody looks.
	Recall(ctx context.Context, c *Caller, r Recall) (key string, err error)
}

// Recall is a request of RocketMQ 5's producers (RECALL_MESSAGE).
type Recall struct {
	ProducerGroup string
	Topic         string
	Handle        string // from the answer to the send
}
