package wire

// RouteHeader is GET_ROUTEINFO_BY_TOPIC.
type RouteHeader struct {
	Topic                  string
	AcceptStandardJSONOnly bool
}

func (x *RouteHeader) fields(f *form) {
	if !f.write || x.AcceptStandardJSONOnly {
		f.flag("acceptStandardJsonOnly", &x.AcceptStandardJSONOnly)
	}
	f.text("topic", &x.Topic)
}

// RegisterBrokerHeader is REGISTER_BROKER.
type RegisterBrokerHeader struct {
	BrokerName   string
	BrokerAddr   string // ip:port
	ClusterName  string
	HAServerAddr string // ip:port
	BrokerID     int64
	Compressed   bool
	BodyCRC32    int32 // message.BodyCRC of the body; 0 for none
}

func (x *RegisterBrokerHeader) fields(f *form) {
	f.defInt32("bodyCrc32", &x.BodyCRC32)
	f.text("brokerAddr", &x.BrokerAddr)
	f.int64("brokerId", &x.BrokerID)
	f.text("brokerName", &x.BrokerName)
	f.text("clusterName", &x.ClusterName)
	f.flag("compressed", &x.Compressed)
	f.optText("haServerAddr", &x.HAServerAddr)
}

// RegisterBrokerReply answers REGISTER_BROKER; both are empty but for a slave whose master is known.
type RegisterBrokerReply struct{ HAServerAddr, MasterAddr string }

func (x *RegisterBrokerReply) fields(f *form) {
	f.optText("haServerAddr", &x.HAServerAddr)
	f.optText("masterAddr", &x.MasterAddr)
}

// BrokerHeader names one broker process: UNREGISTER_BROKER, QUERY_DATA_VERSION.
type BrokerHeader struct {
	BrokerName  string
	BrokerAddr  string
	ClusterName string
	BrokerID    int64
}

func (x *BrokerHeader) fields(f *form) {
	f.text("brokerAddr", &x.BrokerAddr)
	f.int64("brokerId", &x.BrokerID)
	f.text("brokerName", &x.BrokerName)
	f.text("clusterName", &x.ClusterName)
}

// DataVersionReply answers QUERY_DATA_VERSION.
type DataVersionReply struct{ Changed bool }

func (x *DataVersionReply) fields(f *form) { f.flag("changed", &x.Changed) }

// PutKVHeader is PUT_KV_CONFIG.
type PutKVHeader struct{ Namespace, Key, Value string }

func (x *PutKVHeader) fields(f *form) {
	f.text("key", &x.Key)
	f.text("namespace", &x.Namespace)
	f.text("value", &x.Value)
}

// KVHeader is GET_KV_CONFIG and DELETE_KV_CONFIG.
type KVHeader struct{ Namespace, Key string }

func (x *KVHeader) fields(f *form) {
	f.text("key", &x.Key)
	f.text("namespace", &x.Namespace)
}

// KVReply answers GET_KV_CONFIG.
type KVReply struct{ Value string }

func (x *KVReply) fields(f *form) { f.optText("value", &x.Value) }

// NamespaceHeader is GET_KVLIST_BY_NAMESPACE.
type NamespaceHeader struct{ Namespace string }

func (x *NamespaceHeader) fields(f *form) { f.text("namespace", &x.Namespace) }

// BrokerNameHeader is WIPE_WRITE_PERM_OF_BROKER and ADD_WRITE_PERM_OF_BROKER.
type BrokerNameHeader struct{ BrokerName string }

func (x *BrokerNameHeader) fields(f *form) { f.text("brokerName", &x.BrokerName) }

// WipeReply answers WIPE_WRITE_PERM_OF_BROKER.
type WipeReply struct{ WipeTopicCount int32 }

func (x *WipeReply) fields(f *form) { f.int32("wipeTopicCount", &x.WipeTopicCount) }

// AddReply answers ADD_WRITE_PERM_OF_BROKER.
type AddReply struct{ AddTopicCount int32 }

func (x *AddReply) fields(f *form) { f.int32("addTopicCount", &x.AddTopicCount) }

// ClusterHeader is GET_TOPICS_BY_CLUSTER.
type ClusterHeader struct{ Cluster string }

func (x *ClusterHeader) fields(f *form) { f.text("cluster", &x.Cluster) }

// DeleteTopicHeader is DELETE_TOPIC_IN_BROKER and DELETE_TOPIC_IN_NAMESRV; only the latter may name a cluster.
type DeleteTopicHeader struct{ Topic, ClusterName string }

func (x *DeleteTopicHeader) fields(f *form) {
	f.optText("clusterName", &x.ClusterName)
	f.text("topic", &x.Topic)
}
