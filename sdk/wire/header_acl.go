package wire

// CreateAccessHeader is UPDATE_AND_CREATE_ACL_CONFIG. The lists are texts with commas, as they travel.
type CreateAccessHeader struct {
	AccessKey          string
	SecretKey          string
	WhiteRemoteAddress string
	Admin              bool
	DefaultTopicPerm   string
	DefaultGroupPerm   string
	TopicPerms         string
	GroupPerms         string
}

func (x *CreateAccessHeader) fields(f *form) {
	f.text("accessKey", &x.AccessKey)
	f.flag("admin", &x.Admin)
	f.optText("defaultGroupPerm", &x.DefaultGroupPerm)
	f.optText("defaultTopicPerm", &x.DefaultTopicPerm)
	f.optText("groupPerms", &x.GroupPerms)
	f.optText("secretKey", &x.SecretKey)
	f.optText("topicPerms", &x.TopicPerms)
	f.optText("whiteRemoteAddress", &x.WhiteRemoteAddress)
}

// DeleteAccessHeader is DELETE_ACL_CONFIG.
type DeleteAccessHeader struct{ AccessKey string }

func (x *DeleteAccessHeader) fields(f *form) { f.text("accessKey", &x.AccessKey) }

// WhiteAddrsHeader is UPDATE_GLOBAL_WHITE_ADDRS_CONFIG.
type WhiteAddrsHeader struct{ GlobalWhiteAddrs, ACLFileFullPath string }

func (x *WhiteAddrsHeader) fields(f *form) {
	f.optText("aclFileFullPath", &x.ACLFileFullPath)
	f.text("globalWhiteAddrs", &x.GlobalWhiteAddrs)
}

// ACLInfoReply answers GET_BROKER_CLUSTER_ACL_INFO; the versions are JSON.
type ACLInfoReply struct{ Version, AllACLFileVersion, BrokerName, BrokerAddr, ClusterName string }

func (x *ACLInfoReply) fields(f *form) {
	f.optText("allAclFileVersion", &x.AllACLFileVersion)
	f.text("brokerAddr", &x.BrokerAddr)
	f.text("brokerName", &x.BrokerName)
	f.text("clusterName", &x.ClusterName)
	f.text("version", &x.Version)
}
