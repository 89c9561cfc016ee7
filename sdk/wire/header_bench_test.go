package wire

import (
	"testing"
)

const sendHeaderJSON = `{"code":310,"extFields":{"a":"ProducerGroup","b":"TopicTest","c":"TBW102","d":"4","e":"2","f":"0",` +
	`"g":"1700000000000","h":"0","i":"UNIQ_KEY\u00017F0000010EA818B4AAC20B1A2C3D0000\u0002WAIT\u0001true\u0002TAGS\u0001TagA",` +
	`"j":"0","k":"false","m":"false","n":"broker-a"},"flag":0,"language":"JAVA","opaque":1234,"serializeTypeCurrentRPC":"JSON","version":407}`

func sendFrames(t testing.TB) map[string][]byte {
	frame := rawFrame(JSON, []byte(sendHeaderJSON), make([]byte, 1024))
	var h Header
	body, err := h.Decode(frame)
	if err != nil {
		t.Fatal(err)
	}
	h.Type = Binary
	bin, err := AppendFrame(nil, &h, body)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"JSON": frame, "binary": bin}
}

func TestHeaderAllocs(t *testing.T) {
	for name, frame := range sendFrames(t) {
		var h, reply Header
		var out []byte
		n := testing.AllocsPerRun(100, func() {
			f, _, _ := NextFrame(frame)
			_, _ = h.Decode(f)
			reply.Reply(&h, 0)
			reply.SetString("msgId", "7F00000100002A9F0000000000000000")
			reply.SetInt("queueId", 3)
			reply.SetInt("queueOffset", 123456)
			reply.SetBool("TRACE_ON", true)
			out, _ = AppendFrame(out[:0], &reply, nil)
		})
		if n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}

func BenchmarkHeaderDecode(b *testing.B) {
	for name, frame := range sendFrames(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var h Header
			for b.Loop() {
				_, _ = h.Decode(frame)
			}
		})
	}
}

func BenchmarkReplyEncode(b *testing.B) {
	for _, typ := range []Type{JSON, Binary} {
		b.Run(typ.String(), func(b *testing.B) {
			b.ReportAllocs()
			req := Header{Type: typ, Opaque: 1234}
			var reply Header
			var out []byte
			for b.Loop() {
				reply.Reply(&req, 0)
				reply.SetString("MSG_REGION", "DefaultRegion")
				reply.SetBool("TRACE_ON", true)
				reply.SetString("msgId", "7F00000100002A9F0000000000000000")
				reply.SetInt("queueId", 3)
				reply.SetInt("queueOffset", 123456)
				out, _ = AppendFrame(out[:0], &reply, nil)
			}
		})
	}
}
