package sut

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/weirmq/weir/test/internal/javamq"
	"github.com/weirmq/weir/test/internal/proc"
)

// java runs the real broker, with a name server of its own unless it joins one.
type java struct {
	broker *Broker
	jars   *javamq.Jars
	names  *proc.Process
	p      *proc.Process
}

func newJava(b *Broker) (*java, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	jars, err := javamq.Install(ctx, javamq.Server4)
	if err != nil {
		return nil, err
	}
	return &java{broker: b, jars: jars}, nil
}

func (j *java) process() *proc.Process { return j.p }

func (j *java) close() {
	if j.names != nil {
		j.names.Kill() // it keeps nothing worth a clean stop
	}
}

func (j *java) start(ctx context.Context) error {
	o := j.broker.options
	if o.NameServer == "" && j.names == nil {
		names, err := javamq.NameServer{
			Jars: j.jars, Home: filepath.Join(o.Home, "namesrv"), Port: j.broker.port - 3, JVM: j.flags(),
		}.Start(ctx)
		if err != nil {
			return err
		}
		j.names = names
	}
	p, err := javamq.Broker{
		Jars: j.jars, Home: o.Home, Store: o.DataDir, Name: o.Name, Cluster: o.Cluster,
		Port: j.broker.port, NameServer: j.broker.NameServer(), JVM: j.flags(),
		Properties: j.properties(),
	}.Start(ctx)
	if err != nil {
		return err
	}
	j.p = p
	return nil
}

func (j *java) flags() []string { return slices.Concat(javamq.QuickStart, j.broker.options.JavaFlags) }

// delayLevels has retries due as early as a level may be.
const delayLevels = "1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s"

func (j *java) properties() map[string]string {
	o := j.broker.options
	properties := map[string]string{
		"flushDiskType": map[string]string{"sync": "SYNC_FLUSH", "async": "ASYNC_FLUSH"}[o.Flush],
		// On in weir without being told.
		"enablePropertyFilter": "true",
		"messageDelayLevel":    delayLevels,
	}
	if o.NoAutoCreate {
		properties["autoCreateTopicEnable"] = "false"
	}
	if o.SegmentSize > 0 {
		properties["mappedFileSizeCommitLog"] = fmt.Sprint(o.SegmentSize)
	}
	if o.QueueEntries > 0 {
		properties["mappedFileSizeConsumeQueue"] = fmt.Sprint(o.QueueEntries * 20)
	}
	for key, value := range o.JavaProperties {
		properties[key] = value
	}
	return properties
}
