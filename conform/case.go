package conform

// Case is one promise, and the steps that show it.
type Case struct {
	Name    string // with the ids of the requirements that it shows
	Feature Feature
	Steps   []Step
}

// Feature is what a case belongs to: a row of the table that says what a service, or an adapter, does.
type Feature string

// The features, in the order of the table.
const (
	Replay       Feature = "a retry is answered with the first answer"
	Meaning      Feature = "meaning is compared, not formatting"
	Keys         Feature = "a key that cannot be is refused before anything is claimed"
	Callers      Feature = "a key is its caller's, and a retry is authorised again"
	InFlight     Feature = "a duplicate of a running request is told so, or waits"
	AtOnce       Feature = "twenty at once are one effect"
	Refusals     Feature = "a refusal is forgotten, a final one is replayed"
	Errors       Feature = "a handler's error rolls back and is answered by the framework"
	Panics       Feature = "a panic rolls back and is answered"
	HungUp       Feature = "a caller who hangs up leaves one effect"
	Noticed      Feature = "the work notices that its caller hung up"
	Bounds       Feature = "bodies and answers are bounded; what was not kept is not run again"
	Headers      Feature = "fields of one response are not replayed"
	SafeMethods  Feature = "safe methods and preflights pass"
	ContractRead Feature = "the contract is served"
)

// Features are all of them, in the order of the table.
func Features() []Feature {
	return []Feature{
		Replay, Meaning, Keys, Callers, InFlight, AtOnce, Refusals, Errors, Panics, HungUp, Noticed, Bounds, Headers, SafeMethods,
		ContractRead,
	}
}

// Step is one move of a case. Its texts may hold {key} and {ref}, which stand for a key and a reference of this run.
type Step struct {
	Act Act
	// Name is what later steps call the answer, or the request that was begun.
	Name    string
	Request Request
	// Copies is how many callers send the request at the same moment. All must be answered as Want says, and alike; where
	// Want.Marker is Fresh, one answer of them must be and the others must be replays of it. Defaults to 1.
	Copies int
	Want   Want
}

// Act is what a step does.
type Act uint8

// The acts.
const (
	// Send sends the request and compares the answer.
	Send Act = iota
	// Begin sends the request, whose order has to say Hold, and goes on once the handler holds it.
	Begin
	// HangUp ends the begun request of the step's name from the caller's side.
	HangUp
	// Notice waits until the handler of the case's reference has noticed that its caller hung up.
	Notice
	// Release lets the handler go on.
	Release
	// Await waits for the answer to the begun request of the step's name, and compares it.
	Await
)

// Request is what a caller sends.
type Request struct {
	// Method defaults to POST.
	Method string
	// Path, with the query, defaults to /orders.
	Path string
	// Caller is who asks; "nobody" sends no credentials. Defaults to "alice".
	Caller string
	// Keys are the lines of the field Idempotency-Key. Defaults to one that holds the quoted {key}; NoKey sends none.
	Keys []string
	// Body is JSON; Bytes fills it up with white space to that many bytes. Defaults to none.
	Body  string
	Bytes int
	// Chunked does not say the body's length beforehand.
	Chunked bool
	// Header has further fields.
	Header map[string]string
}

// NoKey are the Keys of a request without the field.
var NoKey = []string{}

// Want is what a step has to come to.
type Want struct {
	// Status of an answer that is none of the problems; 0 where Problem says it.
	Status int
	// Problem is the code of a problem (RFC 9457); Target.Problems and the table of problems have its status.
	Problem string
	// Marker says whether the answer bears Idempotent-Replayed.
	Marker Marker
	// Same names an earlier answer that this one equals in status, bytes and the fields that are recorded.
	Same string
	// Header has the fields that the answer must have, once each: "*" is any value, "" is none. A value in braces, such as
	// {Location of first}, is that of an earlier answer.
	Header map[string]string
	// Body is a part of the answer's body.
	Body string
	// Effects are those under the case's reference, once the step is done. -1 where that is not to be asked yet.
	Effects int
}

// Marker is what an answer's field Idempotent-Replayed says.
type Marker uint8

// The markers.
const (
	Fresh    Marker = iota // the field is not there
	Replayed               // it is "true"
	Either
)

// problems are the statuses of the problems, by code.
var problems = map[string]int{
	"key_missing":        400,
	"key_malformed":      400,
	"key_repeated":       400,
	"key_too_long":       400,
	"body_invalid":       400,
	"unauthenticated":    401,
	"forbidden":          403,
	"method_not_allowed": 405,
	"in_flight":          409,
	"answer_not_stored":  410,
	"body_too_large":     413,
	"key_reused":         422,
	"internal":           500,
	"answer_too_large":   500,
}
