package client

import (
	"testing"

	"github.com/weirmq/weir/sdk/wire"
)

// Int64 finds the field without decoding where it can, and never another one.
func TestReplyInt64(t *testing.T) {
	for _, c := range []struct {
		name, ext string
		want      int64
		ok        bool
	}{
		{"usual", `"minOffset":"3","nextBeginOffset":"12345","x":"7"`, 12345, true},
		{"leading zeros", `"nextBeginOffset":"00000000000042"`, 42, true},
		{"no text", `"nextBeginOffset":17`, 17, true},
		{"negative", `"nextBeginOffset":"-1"`, -1, true},
		{"the largest", `"nextBeginOffset":"9223372036854775807"`, 9223372036854775807, true},
		{"as a value before", `"a":"nextBeginOffset","nextBeginOffset":"5"`, 5, true},
		{"end of another name", `"theNextBeginOffset":"1","XnextBeginOffset":"2","nextBeginOffset":"5"`, 5, true},
		{"beginning of another name", `"nextBeginOffset2":"1","nextBeginOffset":"5"`, 5, true},
		{"inside of a text", `"a":"\"nextBeginOffset\":\"9\"","nextBeginOffset":"5"`, 5, true},
		{"not there", `"minOffset":"3"`, 0, false},
		{"no number", `"nextBeginOffset":"soon"`, 0, false},
		{"empty", `"nextBeginOffset":""`, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			head := `{"code":0,"extFields":{` + c.ext + `},"flag":1,"language":"JAVA","opaque":1,"version":399}`
			frame := append([]byte{0, 0, 0, byte(4 + len(head)), byte(wire.JSON), 0, 0, byte(len(head))}, head...)
			r := &Reply{}
			r.reset(frame)
			got, err := r.Int64("nextBeginOffset")
			if got != c.want || (err == nil) != c.ok {
				t.Errorf("%d, %v; want %d, ok %v", got, err, c.want, c.ok)
			}
		})
	}
	var h wire.Header
	h.Type, h.Flag = wire.Binary, wire.FlagResponse
	h.SetInt("nextBeginOffset", 77)
	frame, err := wire.AppendFrame(nil, &h, []byte("body"))
	if err != nil {
		t.Fatal(err)
	}
	r := &Reply{}
	r.reset(frame)
	if got, err := r.Int64("nextBeginOffset"); got != 77 || err != nil || string(r.Body()) != "body" {
		t.Errorf("binary: %d, %v, body %q", got, err, r.Body())
	}
}
