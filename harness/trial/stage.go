package trial

// Stage says what of a target a [TargetError] is about: which step on the way from
// its manifest to its first effect did not come about.
type Stage string

// The stages, in the order in which a trial comes to them.
const (
	StageManifest  Stage = "manifest"  // something in it does not compile
	StageBuild     Stage = "build"     // a build command
	StageSchema    Stage = "schema"    // the template database
	StageStart     Stage = "start"     // a program cannot be started
	StageReady     Stage = "ready"     // an instance is not ready in time
	StageExit      Stage = "exit"      // an instance ended by itself
	StageOrder     Stage = "order"     // the app was asked for an order
	StageCommitted Stage = "committed" // the committed query
	StagePending   Stage = "pending"   // the pending query
	StageLog       Stage = "log"       // the broker's log
	StageApplied   Stage = "applied"   // the applied query
)
