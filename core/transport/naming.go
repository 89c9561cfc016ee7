package transport

import "context"

// Router answers clients' questions for routes: a name server's reading half.
type Router interface {
	// Route tells where a topic is; TopicNotExist when nowhere.
	Route(ctx context.Context, c *Caller, topic string) (Route, error)
	// ClusterInfo lists clusters and brokers.
	ClusterInfo(ctx context.Context, c *Caller) (ClusterInfo, error)
	// TopicList lists all topics; of one cluster, or chosen by kind.
	TopicList(ctx context.Context, c *Caller, q TopicQuery) (TopicList, error)
	// DeleteRoute forgets a topic, of one cluster or, when it is empty, everywhere.
	DeleteRoute(ctx context.Context, c *Caller, topic, cluster string) error
	// SetWritePerm takes the write permission of all topics of a broker away, or gives it back. It returns how many
	// topics that changed.
	SetWritePerm(ctx context.Context, c *Caller, broker string, write bool) (int, error)
	// ServerConfig returns the name server's settings under RocketMQ's property names.
	ServerConfig(ctx context.Context, c *Caller) (map[string]string, error)
	// UpdateServerConfig changes them.
	UpdateServerConfig(ctx context.Context, c *Caller, values map[string]string) error
}

// TopicQuery chooses topics.
type TopicQuery struct {
	Kind    TopicQueryKind
	Cluster string // with TopicsOfCluster
}

// TopicQueryKind says by what topics are chosen.
type TopicQueryKind uint8

// The ways to choose topics.
const (
	AllTopics       TopicQueryKind = iota
	TopicsOfCluster                // those of the brokers of a cluster
	SystemTopics                   // names of clusters and brokers, with any broker's address
	UnitTopics
	UnitSubTopics
	UnitSubNotUnitTopics
)

// TopicList is a list of topics, and a broker's address with the kind SystemTopics.
type TopicList struct {
	Topics []string
	Broker string
}

// Route is where a topic is.
type Route struct {
	OrderConf string // broker:queues;broker:queues, when the topic is ordered over brokers
	Queues    []RouteQueues
	Brokers   []BrokerAddrs
}

// RouteQueues are the queues of a topic on one broker.
type RouteQueues struct {
	Broker      string
	ReadQueues  int32
	WriteQueues int32
	Perm        int32
	SysFlag     int32
}

// BrokerAddrs are the addresses of one broker and its replicas.
type BrokerAddrs struct {
	Cluster string
	Broker  string
	Addrs   map[int64]string // by broker id; 0 is the master
}

// ClusterInfo lists what is registered.
type ClusterInfo struct {
	Brokers  []BrokerAddrs
	Clusters map[string][]string // cluster -> broker names
}

// Registry takes registrations of brokers: a name server's writing half.
type Registry interface {
	// Register adds or refreshes a broker. A topic that is absent from the registration is not removed.
	Register(ctx context.Context, c *Caller, r *Registration) (RegisterResult, error)
	// Unregister removes a broker.
	Unregister(ctx context.Context, c *Caller, b BrokerIdentity) error
	// TopicsChanged tells whether the broker's topics differ from those registered, and refreshes the broker if not.
	TopicsChanged(ctx context.Context, c *Caller, b BrokerIdentity, v DataVersion) (changed bool, known DataVersion, err error)
}

// BrokerIdentity names one process of a broker.
type BrokerIdentity struct {
	Cluster string
	Broker  string
	ID      int64
	Addr    string // host:port
}

// Registration is what a broker tells a name server about itself.
type Registration struct {
	BrokerIdentity
	HAAddr        string
	FilterServers []string
	Topics        []TopicConfig
	Version       DataVersion
}

// RegisterResult is what a name server tells a broker.
type RegisterResult struct {
	HAAddr     string
	MasterAddr string
	// OrderTopics is the KV table of ordered topics.
	OrderTopics map[string]string
}

// Registrar registers with one name server: it is how core speaks to those that are not its own.
type Registrar interface {
	// Addr is the name server's address.
	Addr() string
	// Register registers the broker; oneWay doesn't wait for an answer.
	Register(ctx context.Context, r *Registration, oneWay bool) (RegisterResult, error)
	// Unregister takes the broker off.
	Unregister(ctx context.Context, b BrokerIdentity) error
	// Close ends the connection.
	Close() error
}

// KVStore is a name server's table of namespaces, keys and values.
type KVStore interface {
	// KV returns a value; QueryNotFound when absent.
	KV(ctx context.Context, c *Caller, namespace, key string) (string, error)
	// PutKV sets a value.
	PutKV(ctx context.Context, c *Caller, namespace, key, value string) error
	// DeleteKV removes a value. An absent one is fine.
	DeleteKV(ctx context.Context, c *Caller, namespace, key string) error
	// KVList returns all keys and values of a namespace; QueryNotFound when there are none.
	KVList(ctx context.Context, c *Caller, namespace string) (map[string]string, error)
}
