package store

import (
	"testing"

	"github.com/weirmq/weir/core/message"
)

// TestCausesOfRefusals: what a message was refused for, by the remark that tells people.
func TestCausesOfRefusals(t *testing.T) {
	for _, tt := range []struct {
		code   message.Code
		remark string
		want   message.Cause
	}{
		{message.ServiceNotAvailable, fatalRemark, message.CauseFlush},
		{message.ServiceNotAvailable, closingRemark, message.CauseStopping},
		{message.ServiceNotAvailable, notStartedRemark, message.CauseStopping},
		{message.ServiceNotAvailable, "the broker's disk is 99.0% full", message.CauseDisk},
		{message.SystemBusy, "the broker's disk is too slow", message.CauseWait},
		{message.MessageIllegal, "too large", message.CauseIllegal},
		{message.SystemError, "?", message.CauseOther},
	} {
		if got := causeOf(tt.code, tt.remark); got != tt.want {
			t.Errorf("%v %q: %v, want %v", tt.code, tt.remark, got, tt.want)
		}
	}
}
