package wire

// TopicRoute is the reply to GET_ROUTEINFO_BY_TOPIC. The Go client cuts its text: it must stay compact.
type TopicRoute struct {
	BrokerDatas       []BrokerData        `json:"brokerDatas"`
	FilterServerTable map[string][]string `json:"filterServerTable"`
	OrderTopicConf    string              `json:"orderTopicConf,omitempty"` // broker:queues;broker:queues
	QueueDatas        []QueueData         `json:"queueDatas"`
}

// BrokerData is the addresses of the brokers with one name, by broker id; 0 is the master.
type BrokerData struct {
	BrokerAddrs map[int64]string `json:"brokerAddrs"`
	BrokerName  string           `json:"brokerName"`
	Cluster     string           `json:"cluster"`
}

// QueueData is what a topic has on one broker.
type QueueData struct {
	BrokerName     string `json:"brokerName"`
	Perm           int32  `json:"perm"` // message.Perm
	ReadQueueNums  int32  `json:"readQueueNums"`
	TopicSysFlag   int32  `json:"topicSysFlag"`
	WriteQueueNums int32  `json:"writeQueueNums"`
}

// ClusterInfo is the reply to GET_BROKER_CLUSTER_INFO.
type ClusterInfo struct {
	BrokerAddrTable  map[string]BrokerData `json:"brokerAddrTable"`  // by broker name
	ClusterAddrTable map[string][]string   `json:"clusterAddrTable"` // names of brokers by cluster
}

// TopicList is the reply to every request for a list of topics.
type TopicList struct {
	BrokerAddr string   `json:"brokerAddr,omitempty"`
	TopicList  []string `json:"topicList"`
}

// KVTable is texts by name: GET_KVLIST_BY_NAMESPACE, GET_BROKER_RUNTIME_INFO, and the reply to REGISTER_BROKER.
type KVTable struct {
	Table map[string]string `json:"table"`
}
