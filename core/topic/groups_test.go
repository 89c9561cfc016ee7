package topic

import (
	"reflect"
	"syscall"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

func TestBuiltinGroups(t *testing.T) {
	all, v := openGroups(t, vfs.NewMem(nil), nil).All()
	var want []transport.GroupConfig
	for _, name := range []string{"CID_ONS-HTTP-PROXY", "CID_ONSAPI_OWNER", "CID_ONSAPI_PERMISSION", "CID_ONSAPI_PULL",
		"FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "TOOLS_CONSUMER"} {
		want = append(want, DefaultGroup(name))
	}
	if !reflect.DeepEqual(all, want) || v != (transport.DataVersion{}) {
		t.Errorf("got %v %v", v, all)
	}
}

func TestEnsureGroup(t *testing.T) {
	cases := []struct {
		name   string
		off    bool
		group  string
		code   message.Code
		remark string
	}{
		{name: "created", group: "g"},
		{name: "built in", off: true, group: "TOOLS_CONSUMER"},
		{name: "system group", off: true, group: "CID_RMQ_SYS_x"},
		{name: "off", off: true, group: "g", code: 26,
			remark: `group "g" does not exist and groups.auto_create is off; create it with mqadmin updateSubGroup, or set groups.auto_create`},
		{name: "illegal", group: "a/b", code: 1,
			remark: `the group name "a/b" has the illegal character '/' at position 1, allowed are a-z A-Z 0-9 % | - _`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			groups := openGroups(t, vfs.NewMem(nil), func(cfg *GroupsConfig) { cfg.AutoCreate = !c.off })
			got, err := groups.Ensure(c.group)
			if c.remark != "" {
				wantRefusal(t, err, c.code, c.remark)
				return
			}
			if err != nil || *got != DefaultGroup(c.group) {
				t.Fatalf("got %+v, %v", got, err)
			}
			if found, ok := groups.Lookup([]byte(c.group)); !ok || found != got {
				t.Errorf("lookup: got %+v, %v", found, ok)
			}
		})
	}
}

func TestPutAndDeleteGroup(t *testing.T) {
	fsys := vfs.NewMem(nil)
	groups := openGroups(t, fsys, nil)
	changes := 0
	groups.OnChange = func([]transport.GroupConfig, transport.DataVersion) { changes++ }
	g := DefaultGroup("g")
	g.RetryMaxTimes, g.RetryQueues, g.ConsumeBroadcastEnable = 3, 2, false
	if err := groups.Put(g); err != nil {
		t.Fatal(err)
	}
	groups = openGroups(t, fsys.CrashClone(vfs.Crash{}), nil)
	if got, ok := groups.Group("g"); !ok || got != g {
		t.Errorf("after a restart: got %+v", got)
	}
	for i, want := range []bool{true, false} {
		if existed, err := groups.Delete("g"); existed != want || err != nil {
			t.Errorf("delete %d: got %v, %v", i, existed, err)
		}
	}
	wantRefusal(t, groups.Put(transport.GroupConfig{}), message.SystemError, "the group name is empty")
	wantRefusal(t, groups.Put(transport.GroupConfig{Name: "g", RetryQueues: -1}), message.SystemError,
		`group "g": -1 retry queues are out of range, want 0 to 16384`)
	if changes != 1 {
		t.Errorf("the hook ran %d times, want 1", changes)
	}
}

func TestGroupQuotaAndFullDisk(t *testing.T) {
	fsys := errorfs.Wrap(vfs.NewMem(nil), nil)
	groups := openGroups(t, fsys, func(c *GroupsConfig) { c.Max = 8 })
	fsys.Set(errorfs.OnKind(errorfs.Sync, syscall.ENOSPC))
	_, err := groups.Ensure("g")
	wantRefusal(t, err, message.ServiceNotAvailable, `group "g" was not created: save /data/config/subscriptionGroup.json: `+
		`sync /data/config/subscriptionGroup.json.tmp: no space left on device; free space on the disk of `+
		`/data/config/subscriptionGroup.json, then try again`)
	fsys.Set(nil)
	if _, err := groups.Ensure("g"); err != nil {
		t.Fatal(err)
	}
	_, err = groups.Ensure("h")
	wantRefusal(t, err, message.GroupNotExist,
		`group "h" was not created: there are 8 groups already and groups.max is 8; delete groups that nobody uses, or raise groups.max`)
}

func TestValidate(t *testing.T) {
	c, g := DefaultConfig(), DefaultGroupsConfig()
	if c.Validate() != nil || g.Validate() != nil {
		t.Errorf("the defaults: %v, %v", c.Validate(), g.Validate())
	}
	c.DefaultQueues, c.Max = 0, 99
	want := "default_queues: 0 is out of range, want 1 to 16384\nmax: 99 is out of range, want 100 to 1000000"
	if err := c.Validate(); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
