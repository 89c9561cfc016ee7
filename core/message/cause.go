package message

// Cause is why something was refused, for counting. The remark says it to people.
type Cause uint8

// The causes.
const (
	CauseOther      Cause = iota
	CausePermission       // somebody may not do it, or nobody may
	CauseQuota            // a limit on how many there may be
	CauseMissing          // the topic, group or message isn't there
	CauseIllegal          // what was sent is too large, or makes no sense
	CauseWait             // it waited too long for its turn
	CauseFlush            // it wasn't flushed, or not in time
	CauseDisk             // the disk is full, or fails
	CauseStopping         // the broker isn't serving yet, or no more
	CauseClient           // a client that had to take part didn't
	Causes                // how many there are
)

// String is the label of the cause in metrics.
func (c Cause) String() string {
	if c >= Causes {
		return "other"
	}
	return [Causes]string{"other", "permission", "quota", "missing", "illegal", "wait", "flush", "disk", "stopping", "client"}[c]
}

// Why returns the error's cause, by its code unless it has one of its own.
func (e *Error) Why() Cause {
	if e.Cause != CauseOther {
		return e.Cause
	}
	switch e.Code {
	case NoPermission:
		return CausePermission
	case TopicNotExist, GroupNotExist, QueryNotFound, ConsumerNotOnline:
		return CauseMissing
	case MessageIllegal:
		return CauseIllegal
	case SystemBusy:
		return CauseWait
	case FlushDiskTimeout, FlushSlaveTimeout, SlaveNotAvailable:
		return CauseFlush
	case ServiceNotAvailable:
		return CauseStopping
	}
	return CauseOther
}
