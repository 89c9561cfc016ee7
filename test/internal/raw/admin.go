package raw

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// Request codes of administrators.
const (
	codeCreateTopic = 17
	codeUpdateGroup = 200
	codeGroups      = 201
	codeConnections = 203
	codeProducers   = 204
	codeDeleteTopic = 215
	codeResetOffset = 222
)

// CreateTopic creates or changes a topic with as many queues to read as to write.
func (c *Conn) CreateTopic(ctx context.Context, topic string, queues int) error {
	_, err := c.must(ctx, codeCreateTopic, map[string]string{
		"topic": topic, "defaultTopic": "TBW102", "readQueueNums": strconv.Itoa(queues), "writeQueueNums": strconv.Itoa(queues),
		"perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
	}, nil)
	return err
}

// DeleteTopic deletes a topic and its queues.
func (c *Conn) DeleteTopic(ctx context.Context, topic string) error {
	_, err := c.must(ctx, codeDeleteTopic, map[string]string{"topic": topic}, nil)
	return err
}

// UpdateGroup creates or changes a subscription group.
func (c *Conn) UpdateGroup(ctx context.Context, group string, retryMax int) error {
	body := fmt.Sprintf(`{"brokerId":0,"consumeBroadcastEnable":true,"consumeEnable":true,"consumeFromMinEnable":true,`+
		`"groupName":%q,"notifyConsumerIdsChangedEnable":true,"retryMaxTimes":%d,"retryQueueNums":1,"whichBrokerWhenConsumeSlowly":1}`,
		group, retryMax)
	_, err := c.must(ctx, codeUpdateGroup, nil, []byte(body))
	return err
}

// Groups is the broker's text about its subscription groups.
func (c *Conn) Groups(ctx context.Context) (string, error) {
	f, err := c.must(ctx, codeGroups, nil, nil)
	if err != nil {
		return "", err
	}
	return string(f.Body), nil
}

// Subscription is the expression by which the broker filters a topic for a group; empty when the group has nobody, or doesn't
// subscribe the topic.
func (c *Conn) Subscription(ctx context.Context, group, topic string) (string, error) {
	f, err := c.Call(ctx, codeConnections, map[string]string{"consumerGroup": group}, nil)
	if err != nil || f.Code == ConsumerNotFound {
		return "", err
	}
	if f.Code != Success {
		return "", &Error{Request: codeConnections, Code: f.Code, Remark: f.Remark}
	}
	var body struct {
		SubscriptionTable map[string]struct{ SubString string }
	}
	if err := json.Unmarshal(f.Body, &body); err != nil {
		return "", fmt.Errorf("request %d: %w in %s", codeConnections, err, f.Body)
	}
	return body.SubscriptionTable[topic].SubString, nil
}

// ResetOffsets has the broker send a group that is connected back, or forward, to a time in milliseconds. The members do it; 10 s
// after they were told they go on from there.
func (c *Conn) ResetOffsets(ctx context.Context, group, topic string, at int64) error {
	_, err := c.must(ctx, codeResetOffset, map[string]string{
		"topic": topic, "group": group, "timestamp": strconv.FormatInt(at, 10), "isForce": "true",
	}, nil)
	return err
}

// HasProducer tells whether a producer of the group is connected and has sent a heartbeat. RocketMQ's answer for one that nobody knows is an
// error like any other.
func (c *Conn) HasProducer(ctx context.Context, group string) (bool, error) {
	f, err := c.Call(ctx, codeProducers, map[string]string{"producerGroup": group}, nil)
	return err == nil && f.Code == Success, err
}
