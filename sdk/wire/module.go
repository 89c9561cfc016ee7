package wire

// Request codes of WeirMQ's own, 30001 to 30099, for the modules that filters run. No RocketMQ broker knows them.
const (
	CodeListModules    int32 = 30001 // ModuleHeader, whose name may be empty -> ModuleList
	CodeModuleLog      int32 = 30002 // ModuleHeader -> ModuleLog
	CodePushModule     int32 = 30003 // PushModuleHeader and a part of the module -> PushedModule
	CodeEnableModule   int32 = 30004 // ModuleHeader
	CodeDisableModule  int32 = 30005 // ModuleHeader
	CodeActivateModule int32 = 30006 // ModuleHeader; number 0 is the version that was before -> Module
	CodeRemoveModule   int32 = 30007 // ModuleHeader; number 0 is all versions
	CodeReloadModules  int32 = 30008 // ModuleHeader, whose name may be empty -> ReloadedModules
)

// ownCodeName names the codes that are ours.
func ownCodeName(code int32) string {
	switch code {
	case CodeListModules:
		return "WEIR_LIST_MODULES"
	case CodeModuleLog:
		return "WEIR_MODULE_LOG"
	case CodePushModule:
		return "WEIR_PUSH_MODULE"
	case CodeEnableModule:
		return "WEIR_ENABLE_MODULE"
	case CodeDisableModule:
		return "WEIR_DISABLE_MODULE"
	case CodeActivateModule:
		return "WEIR_ACTIVATE_MODULE"
	case CodeRemoveModule:
		return "WEIR_REMOVE_MODULE"
	case CodeReloadModules:
		return "WEIR_RELOAD_MODULES"
	case CodeListFilters:
		return "WEIR_LIST_FILTERS"
	case CodeListConflicts:
		return "WEIR_LIST_CONFLICTS"
	}
	return ""
}

// ModuleHeader names a module, a version of it, and says whether to go on although it is in use.
type ModuleHeader struct {
	Name   string
	Number int32
	Force  bool
}

func (x *ModuleHeader) fields(f *form) {
	f.optText("name", &x.Name)
	f.defInt32("number", &x.Number)
	f.flag("force", &x.Force)
}

// PushModuleHeader says what the body is a part of. SHA256 is that of the whole module, in hexadecimal digits; Size is its
// size and Offset where the part belongs, both in bytes.
type PushModuleHeader struct {
	Name         string
	SHA256       string
	Size, Offset int64
	Shadow       bool
}

func (x *PushModuleHeader) fields(f *form) {
	f.text("name", &x.Name)
	f.text("sha256", &x.SHA256)
	f.int64("size", &x.Size)
	f.int64("offset", &x.Offset)
	f.flag("shadow", &x.Shadow)
}

// PushedModule answers WEIR_PUSH_MODULE. Received is where the next part begins; Module is there after the last one.
type PushedModule struct {
	Received int64   `json:"received"`
	Module   *Module `json:"module,omitempty"`
}

// ModuleList answers WEIR_LIST_MODULES: by name and number.
type ModuleList struct {
	Modules []Module `json:"modules"`
}

// Module is a version of a module.
type Module struct {
	Name string `json:"name"`
	// Number counts the versions of a pushed module; 0 for one that broker.yaml declares.
	Number  int32  `json:"number"`
	Version string `json:"version"` // the module's own
	SHA256  string `json:"sha256"`
	Source  string `json:"source"` // declared or pushed
	// State is current, stored, shadow, disabled, hidden (broker.yaml declares the name) or broken.
	State     string        `json:"state"`
	Size      int64         `json:"size"`
	Pushed    int64         `json:"pushed"` // ms; 0 for a declared module
	Kinds     []string      `json:"kinds"`
	Pure      bool          `json:"pure"`
	Dispatch  bool          `json:"dispatch"`
	Demoted   bool          `json:"demoted"`
	Loaded    bool          `json:"loaded"`
	Programs  int32         `json:"programs"`
	Instances int32         `json:"instances"`
	Breaker   string        `json:"breaker"` // open or closed
	Fault     string        `json:"fault"`
	Calls     int64         `json:"calls"`
	Records   int64         `json:"records"`
	Fuel      int64         `json:"fuel"`
	Failures  int64         `json:"failures"`
	Poison    int64         `json:"poison"`
	Opens     int64         `json:"opens"` // of the breaker
	Shadow    ModuleShadow  `json:"shadow"`
	Uses      []ModuleUsage `json:"uses"`
}

// ModuleShadow counts messages that a shadow has judged beside the current version.
type ModuleShadow struct {
	Compared    int64 `json:"compared"`
	OnlyCurrent int64 `json:"onlyCurrent"`
	OnlyShadow  int64 `json:"onlyShadow"`
	Failed      int64 `json:"failed"`
}

// ModuleUsage is a group's filter that runs the module. From is where the commit log ended when its generation began.
type ModuleUsage struct {
	Group      string `json:"group"`
	Topic      string `json:"topic"`
	Expression string `json:"expression"`
	Live       bool   `json:"live"`
	Generation int32  `json:"generation"`
	From       int64  `json:"from"`
}

// ModuleLog answers WEIR_MODULE_LOG: the last lines, oldest first.
type ModuleLog struct {
	Lines []ModuleLine `json:"lines"`
}

// ModuleLine is what a module said, or what happened to it.
type ModuleLine struct {
	Time   int64  `json:"time"`  // ms
	Level  string `json:"level"` // debug, info, warn or error
	Number int32  `json:"number"`
	Text   string `json:"text"`
}

// ReloadedModules answers WEIR_RELOAD_MODULES: the names of the declared modules that were loaded anew.
type ReloadedModules struct {
	Names []string `json:"names"`
}
