package queue

import (
	"slices"
	"testing"
)

// TestBloomPositions compares with RocketMQ's BloomFilter.
func TestBloomPositions(t *testing.T) {
	tests := []struct {
		rate, filters int
		shape         bloomShape
		group, topic  string
		want          []int32
	}{
		{20, 32, bloomShape{112, 3}, "CID_A", "TopicTest", []int32{20, 68, 27}},
		{20, 32, bloomShape{112, 3}, "group", "topic", []int32{79, 21, 21}},
		{20, 32, bloomShape{112, 3}, "g1", "t1", []int32{19, 102, 73}},
		{20, 32, bloomShape{112, 3}, "消费组", "主题", []int32{101, 21, 111}},
		{20, 64, bloomShape{216, 3}, "CID_A", "TopicTest", []int32{148, 116, 99}},
		{20, 64, bloomShape{216, 3}, "group", "topic", []int32{15, 5, 157}},
		{10, 128, bloomShape{616, 4}, "CID_A", "TopicTest", []int32{300, 292, 27, 580}},
		{1, 32, bloomShape{312, 7}, "g1", "t1", []int32{203, 206, 209, 212, 215, 218, 221}},
		{50, 32, bloomShape{48, 1}, "group", "topic", []int32{15}},
		{20, 32, bloomShape{112, 3}, "golden-filter-number", "GoldenFilter", []int32{104, 87, 41}},
	}
	for _, tt := range tests {
		s := newBloomShape(tt.rate, tt.filters)
		if s != tt.shape {
			t.Errorf("%d%% of %d filters: %+v, want %+v", tt.rate, tt.filters, s, tt.shape)
		}
		if got := s.positions(tt.group, tt.topic); !slices.Equal(got, tt.want) {
			t.Errorf("%+v %s#%s: %v, want %v", s, tt.group, tt.topic, got, tt.want)
		}
	}
}
