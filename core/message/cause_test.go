package message

import "testing"

func TestCauses(t *testing.T) {
	seen := map[string]bool{}
	for c := range Causes {
		if s := c.String(); s == "" || seen[s] {
			t.Errorf("cause %d is called %q", c, s)
		}
		seen[c.String()] = true
	}
	for _, tt := range []struct {
		e    Error
		want Cause
	}{
		{Error{Code: NoPermission}, CausePermission},
		{Error{Code: TopicNotExist}, CauseMissing},
		{Error{Code: MessageIllegal}, CauseIllegal},
		{Error{Code: SystemBusy}, CauseWait},
		{Error{Code: FlushDiskTimeout}, CauseFlush},
		{Error{Code: ServiceNotAvailable}, CauseStopping},
		{Error{Code: ServiceNotAvailable, Cause: CauseDisk}, CauseDisk},
		{Error{Code: SystemError, Cause: CauseQuota}, CauseQuota},
		{Error{Code: SystemError}, CauseOther},
	} {
		if got := tt.e.Why(); got != tt.want {
			t.Errorf("%v has the cause %v, want %v", tt.e.Code, got, tt.want)
		}
	}
	if (Causes + 7).String() != "other" {
		t.Error("a number that is none")
	}
}
