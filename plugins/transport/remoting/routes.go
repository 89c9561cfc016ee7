package remoting

import (
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// addClientRoutes adds what producers and consumers send, but for sends and pulls, which have a path of their own.
func addClientRoutes(h *transport.Handlers, add addRoute) {
	add(h.Querier != nil, apart, wire.CodeQueryMessage, serveQueryMessage)
	add(h.Querier != nil, apart, wire.CodeViewMessageByID, serveViewMessage)
	add(h.Querier != nil, inline, wire.CodeSearchOffsetByTimestamp, serveSearchOffset)
	add(h.Querier != nil, inline, wire.CodeGetMaxOffset, serveMaxOffset)
	add(h.Querier != nil, inline, wire.CodeGetMinOffset, serveMinOffset)
	add(h.Querier != nil, apart, wire.CodeGetEarliestMsgStoreTime, serveEarliestStoreTime)
	add(h.Offsets != nil, inline, wire.CodeQueryConsumerOffset, serveQueryConsumerOffset)
	add(h.Offsets != nil, inline, wire.CodeUpdateConsumerOffset, serveUpdateConsumerOffset)
	add(h.Groups != nil, inline, wire.CodeUnregisterClient, serveUnregisterClient)
	add(h.Returner != nil, inline, wire.CodeConsumerSendMsgBack, serveSendBack)
}

// addAdminRoutes adds what tools send to a broker. None of it is so frequent that it needs the reader.
func addAdminRoutes(h *transport.Handlers, add addRoute) {
}

// addNameServerRoutes adds what is sent to a name server.
func addNameServerRoutes(h *transport.Handlers, add addRoute) {
}
