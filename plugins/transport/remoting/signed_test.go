package remoting

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

func sign(content, secret string) string {
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write([]byte(content))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func TestSignedContent(t *testing.T) {
	h := &wire.Header{}
	for _, f := range [][2]string{{"topic", "T"}, {"AccessKey", "RocketMQ"}, {"Signature", "qij/"}, {"_UNIQUE_KEY_QUERY", "true"}, {"topic", "U"}} {
		h.SetString(f[0], f[1])
	}
	s := &signed{h: h, body: []byte("body")}
	if got := string(s.AppendSigned([]byte("<"))); got != "<RocketMQtrueUbody" {
		t.Errorf("content %q", got)
	}
	if got := string(s.AppendSigned(nil, "_UNIQUE_KEY_QUERY", "SecurityToken")); got != "RocketMQUbody" {
		t.Errorf("content %q", got)
	}
	// The worked example of the protocol's description.
	if got := sign("RocketMQT", "12345678"); got != "qij/uwizWhQy5fp70E15Y7+y++Q=" {
		t.Errorf("signature %s", got)
	}
}

// TestCredentialsReachTheRoles signs requests as a client does and checks the signature where the broker sees it, for
// sends, whose headers are reused at once, and for others.
func TestCredentialsReachTheRoles(t *testing.T) {
	const key, secret = "RocketMQ", "12345678"
	var mu sync.Mutex
	good := 0
	check := func(c *transport.Caller) {
		mu.Lock()
		defer mu.Unlock()
		cr := c.Credentials
		if string(cr.AccessKey) != key || string(cr.Token) != "token" || cr.Remote.String() == "" || cr.Signed == nil {
			t.Errorf("credentials %+v", cr)
			return
		}
		if got := sign(string(cr.Signed.AppendSigned(nil)), secret); got != string(cr.Signature) {
			t.Errorf("the signature is %s, want %s", cr.Signature, got)
			return
		}
		good++
	}
	sender := newFakeSender()
	sender.hook = func(b *transport.SendBatch) bool {
		for i := range b.Sends {
			check(&transport.Caller{Credentials: b.Sends[i].Credentials})
		}
		return false
	}
	puller := &callerPuller{check: check}
	e := start(t, transport.Handlers{Sender: sender, Puller: puller}, nil)
	p := dial(t, e)
	signedFrame := func(typ wire.Type, code, opaque int32, ext map[string]string, body string) []byte {
		ext["AccessKey"], ext["SecurityToken"] = key, "token"
		content := ""
		for _, k := range slices.Sorted(maps.Keys(ext)) {
			content += ext[k]
		}
		ext["Signature"] = sign(content+body, secret)
		return frame(t, typ, code, opaque, 0, ext, []byte(body))
	}
	var all []byte
	for i, body := range []string{"one", "two", "three"} {
		ext := sendExt("T")
		ext["i"] = "KEYS\x01" + body // with an escape in JSON
		all = append(all, signedFrame(wire.Type(i%2), wire.CodeSendMessageV2, int32(i), ext, body)...)
	}
	all = append(all, signedFrame(wire.JSON, wire.CodePullMessage, 9, pullExt("T"), "")...)
	p.write(all)
	for range 4 {
		p.read()
	}
	mu.Lock()
	defer mu.Unlock()
	if good != 4 {
		t.Errorf("%d of 4 requests are signed well", good)
	}
}
