package remoting

import (
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// Enums travel by name and are ordinals inside.

func coreFrom(f wire.ConsumeFromWhere) transport.ConsumeFrom {
	for n := transport.ConsumeFromLastOffset; n <= transport.ConsumeFromTimestamp; n++ {
		if wireFrom(n) == f {
			return n
		}
	}
	return transport.ConsumeFromLastOffset
}

func wireFrom(f transport.ConsumeFrom) wire.ConsumeFromWhere {
	switch f {
	case transport.ConsumeFromLastOffsetOrMinWhenBootFirst:
		return wire.FromLastOrMin
	case transport.ConsumeFromMinOffset:
		return wire.FromMinOffset
	case transport.ConsumeFromMaxOffset:
		return wire.FromMaxOffset
	case transport.ConsumeFromFirstOffset:
		return wire.FromFirstOffset
	case transport.ConsumeFromTimestamp:
		return wire.FromTimestamp
	}
	return wire.FromLastOffset
}

func wireType(t transport.ConsumeType) wire.ConsumeType {
	if t == transport.ConsumeActively {
		return wire.ConsumeActively
	}
	return wire.ConsumePassively
}

func wireModel(m transport.MessageModel) wire.MessageModel {
	if m == transport.Broadcasting {
		return wire.Broadcasting
	}
	return wire.Clustering
}
