package wire

// CodeListFilters is a request code of WeirMQ's own: FilterHeader -> FilterList.
const CodeListFilters int32 = 30021

// FilterHeader names a group; empty for all.
type FilterHeader struct{ Group string }

func (x *FilterHeader) fields(f *form) { f.optText("group", &x.Group) }

// FilterList answers WEIR_LIST_FILTERS: by group and topic.
type FilterList struct {
	Filters []Filter `json:"filters"`
}

// Filter is a group's filter of a topic and what it has done since the group was first seen to filter the topic.
type Filter struct {
	Group string `json:"group"`
	Topic string `json:"topic"`
	// Type and Expression are empty when each pull brings its own along.
	Type       string `json:"type"`
	Expression string `json:"expression"`
	// Mandatory are the expressions that an operator has bound to the topic or the group, joined by AND.
	Mandatory []string `json:"mandatory,omitempty"`
	Live      bool     `json:"live"` // the group has members that subscribe the topic
	Engine    string   `json:"engine"`
	Key       string   `json:"key"`  // 16 hexadecimal digits, as weir filter explain shows
	Kept      bool     `json:"kept"` // verdicts are
	Fault     string   `json:"fault"`

	Scanned        int64 `json:"scanned"`
	Matched        int64 `json:"matched"`
	ByIndex        int64 `json:"byIndex"` // ruled out
	ByCover        int64 `json:"byCover"` // ruled out
	JudgedPulling  int64 `json:"judgedPulling"`
	JudgedArriving int64 `json:"judgedArriving"`
	Unknown        int64 `json:"unknown"`
	Raised         int64 `json:"raised"`
	Undecided      int64 `json:"undecided"`
	Errors         int64 `json:"errors"`
	Nanos          int64 `json:"nanos"` // spent judging
	Covered        int64 `json:"covered"`
	Entries        int64 `json:"entries"`
}
