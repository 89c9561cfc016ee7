package wire

// CodeListConflicts is a request code of WeirMQ's own: FilterHeader -> ConflictList.
const CodeListConflicts int32 = 30022

// ConflictList answers WEIR_LIST_CONFLICTS: groups whose members don't subscribe the same, by name.
type ConflictList struct {
	Groups []GroupConflict `json:"groups"`
}

// GroupConflict is a group whose members don't subscribe the same.
type GroupConflict struct {
	Group string         `json:"group"`
	Sides []ConflictSide `json:"sides"`
}

// ConflictSide is those clients of a group that subscribe the same.
type ConflictSide struct {
	Subscribes []string `json:"subscribes"` // "topic expression" each
	Clients    []string `json:"clients"`    // members, by client id
	Refused    []string `json:"refused"`    // refused lately because of what they subscribe
}
