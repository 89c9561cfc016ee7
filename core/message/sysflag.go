package message

// Bits of a record's sysFlag. They are stored and sent, and must not change.
const (
	FlagCompressed  int32 = 0x1 // the body is compressed; the broker never inflates it
	FlagMultiTags   int32 = 0x2 // topic filter type MULTI_TAG
	FlagPrepared    int32 = 0x4 // half message of a transaction
	FlagCommit      int32 = 0x8 // committed transaction
	FlagRollback    int32 = 0xC // rolled back; also the mask of the transaction bits
	FlagBornHostV6  int32 = 0x10
	FlagStoreHostV6 int32 = 0x20
	FlagNeedUnwrap  int32 = 0x40 // 5.x; kept as is
	FlagInnerBatch  int32 = 0x80 // 5.x; kept as is

	// FlagTransactionMask selects the transaction type: 0, FlagPrepared, FlagCommit or FlagRollback.
	FlagTransactionMask int32 = 0xC
	// FlagCompressionMask selects the algorithm of a compressed body: 0 (old clients) and FlagZlib are zlib.
	FlagCompressionMask int32 = 0x700
	FlagLZ4             int32 = 0x100
	FlagZstd            int32 = 0x200
	FlagZlib            int32 = 0x300
)

// TransactionType returns the transaction bits of sysFlag: 0, FlagPrepared, FlagCommit or FlagRollback.
func TransactionType(sysFlag int32) int32 { return sysFlag & FlagTransactionMask }

// WithTransactionType returns sysFlag with its transaction bits replaced by t.
func WithTransactionType(sysFlag, t int32) int32 {
	return sysFlag&^FlagTransactionMask | t&FlagTransactionMask
}

// Bits of a pull request's sysFlag.
const (
	PullCommitOffset int32 = 0x1  // commit the offset that the pull carries
	PullSuspend      int32 = 0x2  // hold the pull when nothing is new
	PullSubscription int32 = 0x4  // the pull brings its own subscription
	PullClassFilter  int32 = 0x8  // filter class mode; a broker ignores it, what counts is the subscription's classFilterMode
	PullLite         int32 = 0x10 // lite pull consumer
)
