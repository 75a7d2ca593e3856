package conform

// The paths of the service under test.
const (
	orders   = "/orders"
	patient  = "/patient/orders"
	contract = "/.well-known/idempotency"
)

const (
	order   = `{"reference":"{ref}","sku":"BOOK","quantity":2}`
	another = `{"reference":"{ref}","sku":"BOOK","quantity":3}`
)

// do is the body of an order that has the handler do as it says.
func do(what Do) string {
	return `{"reference":"{ref}","sku":"BOOK","quantity":2,"do":"` + string(what) + `"}`
}

// Cases are all cases, in the order of their features. They may be played at the same time.
func Cases() (all []Case) {
	for _, topic := range [][]Case{
		replayCases, meaningCases, keyCases(), callerCases, inFlightCases, atOnceCases, refusalCases, errorCases, panicCases, hangUpCases,
		boundCases, headerCases, safeCases, contractCases,
	} {
		all = append(all, topic...)
	}
	return all
}

var replayCases = []Case{
	{"F09 R2.3 a retry gets the first answer: status, bytes, type, place and tag", Replay, []Step{
		{Name: "first", Request: Request{Body: order}, Want: Want{
			Status: 201, Effects: 1, Header: map[string]string{"Location": "*", "Etag": "*", "Content-Type": "*"},
		}},
		{Request: Request{Body: order}, Want: Want{Status: 201, Marker: Replayed, Same: "first", Effects: 1}},
		{Request: Request{Body: order}, Want: Want{Status: 201, Marker: Replayed, Same: "first", Effects: 1}},
	}},
	{"B20 first answer and replay bear the same public id", Replay, []Step{
		{Name: "first", Request: Request{Body: order}, Want: Want{Status: 201, Effects: 1, Header: map[string]string{"Idempotency-Id": "*"}}},
		{Request: Request{Body: order}, Want: Want{
			Status: 201, Marker: Replayed, Effects: 1, Header: map[string]string{"Idempotency-Id": "{Idempotency-Id of first}"},
		}},
	}},
	{"R1.7 two keys with one meaning are two effects", Replay, []Step{
		{Name: "first", Request: Request{Body: order}, Want: Want{Status: 201, Effects: 1}},
		{Request: Request{Body: order, Keys: []string{`"{key}-2"`}}, Want: Want{Status: 201, Effects: 2}},
	}},
	{"a replay is answered to a retry that comes in pieces", Replay, []Step{
		{Name: "first", Request: Request{Body: order}, Want: Want{Status: 201, Effects: 1}},
		{Request: Request{Body: order, Chunked: true}, Want: Want{Status: 201, Marker: Replayed, Same: "first", Effects: 1}},
	}},
}

var meaningCases = []Case{
	{"F14 R2.2 members in another order, white space and escapes are the same request", Meaning, []Step{
		{Name: "first", Request: Request{Body: order}, Want: Want{Status: 201, Effects: 1}},
		{
			Request: Request{Body: " {\"quantity\" : 2,\n\"sku\":\"\\u0042OOK\", \"reference\":\"{ref}\"}\n"},
			Want:    Want{Status: 201, Marker: Replayed, Same: "first", Effects: 1},
		},
	}},
	{"F16 a number written another way is the same request", Meaning, []Step{
		{Name: "first", Request: Request{Body: `{"reference":"{ref}","weight":1.5}`}, Want: Want{Status: 201, Effects: 1}},
		{
			Request: Request{Body: `{"reference":"{ref}","weight":15e-1}`},
			Want:    Want{Status: 201, Marker: Replayed, Same: "first", Effects: 1},
		},
		{Request: Request{Body: `{"reference":"{ref}","weight":1.50000000000000001}`}, Want: Want{Problem: "key_reused", Effects: 1}},
	}},
	{"F06 R1.2 another meaning under the key is refused, and the first answer stays", Meaning, []Step{
		{Name: "first", Request: Request{Body: order}, Want: Want{Status: 201, Effects: 1}},
		{Request: Request{Body: another}, Want: Want{Problem: "key_reused", Effects: 1}},
		{Request: Request{Body: order}, Want: Want{Status: 201, Marker: Replayed, Same: "first", Effects: 1}},
	}},
	{"F18 the values of the path are part of the meaning", Meaning, []Step{
		{Name: "first", Request: Request{Method: "PUT", Path: "/orders/1", Body: order}, Want: Want{Status: 201, Effects: 1}},
		{Request: Request{Method: "PUT", Path: "/orders/2", Body: order}, Want: Want{Problem: "key_reused", Effects: 1}},
		{Request: Request{Method: "PUT", Path: "/orders/1", Body: order}, Want: Want{Status: 201, Marker: Replayed, Same: "first", Effects: 1}},
	}},
	{"F18 the query is part of the meaning, the order of its parameters is not", Meaning, []Step{
		{Name: "first", Request: Request{Path: orders + "?dry=0&via=app", Body: order}, Want: Want{Status: 201, Effects: 1}},
		{Request: Request{Path: orders + "?dry=1&via=app", Body: order}, Want: Want{Problem: "key_reused", Effects: 1}},
		{Request: Request{Path: orders, Body: order}, Want: Want{Problem: "key_reused", Effects: 1}},
		{Request: Request{Path: orders + "?via=app&dry=0", Body: order}, Want: Want{Status: 201, Marker: Replayed, Same: "first", Effects: 1}},
	}},
	{"F18 the method is part of the meaning", Meaning, []Step{
		{Name: "first", Request: Request{Method: "PUT", Path: "/orders/1", Body: order}, Want: Want{Status: 201, Effects: 1}},
		{Request: Request{Method: "PATCH", Path: "/orders/1", Body: order}, Want: Want{Problem: "key_reused", Effects: 1}},
	}},
	{"one key of two operations is two keys", Meaning, []Step{
		{Name: "first", Request: Request{Body: order}, Want: Want{Status: 201, Effects: 1}},
		{Request: Request{Path: patient, Body: order}, Want: Want{Status: 201, Effects: 2}},
	}},
}

// refusedKey is the case of lines that are no key. The request that follows shows that nothing was claimed for them.
func refusedKey(name, problem string, lines ...string) Case {
	if lines == nil {
		lines = NoKey
	}
	return Case{"F21 R1.1 " + name, Keys, []Step{
		{Request: Request{Body: order, Keys: lines}, Want: Want{Problem: problem, Header: map[string]string{"Idempotency-Id": ""}}},
		{Request: Request{Body: order}, Want: Want{Status: 201, Effects: 1}},
	}}
}

func keyCases() []Case {
	long := make([]byte, KeyBytesMax+1)
	for i := range long {
		long[i] = 'k'
	}
	return []Case{
		refusedKey("a missing key is refused", "key_missing"),
		refusedKey("an empty key is refused", "key_malformed", ""),
		refusedKey("an empty quoted key is refused", "key_malformed", `""`),
		refusedKey("a blank key is refused", "key_malformed", `"   "`),
		refusedKey("two lines of keys are refused", "key_repeated", `"{key}"`, `"{key}"`),
		refusedKey("two keys in a line are refused", "key_repeated", `"{key}", "{key}"`),
		refusedKey("a key without its closing quote is refused", "key_malformed", `"{key}`),
		refusedKey("a key with a blank outside quotes is refused", "key_malformed", `{key} {key}`),
		refusedKey("a key with parameters is refused", "key_malformed", `"{key}";a=1`),
		refusedKey("a key that is not ASCII is refused", "key_malformed", `"{key}ü"`),
		refusedKey("a key that is too long is refused", "key_too_long", `"`+string(long)+`"`),
		{"F21 the longest key is taken", Keys, []Step{
			{Name: "first", Request: Request{Body: order, Keys: []string{"{longest key}"}}, Want: Want{Status: 201, Effects: 1}},
			{
				Request: Request{Body: order, Keys: []string{"{longest key}"}},
				Want:    Want{Status: 201, Marker: Replayed, Same: "first", Effects: 1},
			},
		}},
		{"B6 the quoted key and the bare one are one key", Keys, []Step{
			{Name: "first", Request: Request{Body: order, Keys: []string{`"{key}"`}}, Want: Want{Status: 201, Effects: 1}},
			{Request: Request{Body: order, Keys: []string{`{key}`}}, Want: Want{Status: 201, Marker: Replayed, Same: "first", Effects: 1}},
		}},
		{"F21 keys that differ in case are two keys", Keys, []Step{
			{Name: "first", Request: Request{Body: order, Keys: []string{`"{key}a"`}}, Want: Want{Status: 201, Effects: 1}},
			{Request: Request{Body: order, Keys: []string{`"{key}A"`}}, Want: Want{Status: 201, Effects: 2}},
		}},
	}
}

var callerCases = []Case{
	{"F19 R2.1 another caller's same key is another key", Callers, []Step{
		{Name: "first", Request: Request{Body: order}, Want: Want{Status: 201, Effects: 1}},
		{Request: Request{Body: order, Caller: "bob"}, Want: Want{Status: 201, Effects: 2}},
		{Request: Request{Body: another, Caller: "carol"}, Want: Want{Status: 201, Effects: 3}},
		{Request: Request{Body: order}, Want: Want{Status: 201, Marker: Replayed, Same: "first", Effects: 3}},
	}},
	{"R2.1 who is not known is not answered, on a retry either", Callers, []Step{
		{Request: Request{Body: order, Caller: "nobody"}, Want: Want{Problem: "unauthenticated"}},
		{Name: "first", Request: Request{Body: order}, Want: Want{Status: 201, Effects: 1}},
		{Request: Request{Body: order, Caller: "nobody"}, Want: Want{Problem: "unauthenticated", Effects: 1}},
	}},
	{"R2.1 who may not do it any more is told so, and nothing of what he did", Callers, []Step{
		{Name: "first", Request: Request{Body: order}, Want: Want{Status: 201, Effects: 1}},
		{Request: Request{Body: order, Header: suspended}, Want: Want{
			Problem: "forbidden", Effects: 1, Header: map[string]string{"Idempotency-Id": "", "Location": ""},
		}},
		{Request: Request{Body: another, Header: suspended}, Want: Want{Problem: "forbidden", Effects: 1}},
		{Request: Request{Body: order}, Want: Want{Status: 201, Marker: Replayed, Same: "first", Effects: 1}},
	}},
}

var suspended = map[string]string{"Suspended": "yes"}

var inFlightCases = []Case{
	{"F06 R1.5 a duplicate of a running request is told at once, and later gets its answer", InFlight, []Step{
		{Act: Begin, Name: "first", Request: Request{Body: do(Hold)}, Want: Want{}},
		{Request: Request{Body: do(Hold)}, Want: Want{Problem: "in_flight", Header: map[string]string{"Retry-After": "*"}}},
		{Request: Request{Body: order}, Want: Want{Problem: "key_reused"}},
		{Act: Release, Want: Want{Effects: -1}},
		{Act: Await, Name: "first", Want: Want{Status: 201, Effects: 1}},
		{Request: Request{Body: do(Hold)}, Want: Want{Status: 201, Marker: Replayed, Same: "first", Effects: 1}},
	}},
	{"R2.5 a duplicate that waits gets the answer of the request that ran", InFlight, []Step{
		{Act: Begin, Name: "first", Request: Request{Path: patient, Body: do(Hold)}, Want: Want{}},
		{Act: Begin, Name: "second", Request: Request{Path: patient, Body: do(Hold)}, Want: Want{}},
		{Act: Release, Want: Want{Effects: -1}},
		{Act: Await, Name: "first", Want: Want{Status: 201, Effects: 1}},
		{Act: Await, Name: "second", Want: Want{Status: 201, Marker: Replayed, Same: "first", Effects: 1}},
	}},
}

var atOnceCases = []Case{
	{"R1.6 R2.7 twenty at once are one effect and one answer", AtOnce, []Step{
		{Name: "first", Copies: 20, Request: Request{Path: patient, Body: order}, Want: Want{Status: 201, Effects: 1}},
		{Request: Request{Path: patient, Body: order}, Want: Want{Status: 201, Marker: Replayed, Same: "first", Effects: 1}},
	}},
}

var refusalCases = []Case{
	{"F08 R2.6 a refusal is forgotten, and the corrected request runs", Refusals, []Step{
		{Name: "first", Request: Request{Body: do(Refuse)}, Want: Want{Status: 422, Body: "refused"}},
		{Request: Request{Body: do(Refuse)}, Want: Want{Status: 422, Body: "refused"}},
		{Request: Request{Body: order}, Want: Want{Status: 201, Effects: 1}},
	}},
	{"F08 the same request may be refused once and run later", Refusals, []Step{
		{Name: "first", Request: Request{Body: do(RefuseOnce)}, Want: Want{Status: 422, Body: "refused"}},
		{Request: Request{Body: do(RefuseOnce)}, Want: Want{Status: 201, Effects: 1}},
		{Request: Request{Body: do(RefuseOnce)}, Want: Want{Status: 201, Marker: Replayed, Effects: 1}},
	}},
	{"a final refusal is replayed", Refusals, []Step{
		{Name: "first", Request: Request{Body: do(Conclude)}, Want: Want{Status: 402, Body: "concluded", Effects: 1}},
		{Request: Request{Body: do(Conclude)}, Want: Want{Status: 402, Marker: Replayed, Same: "first", Effects: 1}},
		{Request: Request{Body: order}, Want: Want{Problem: "key_reused", Effects: 1}},
	}},
	{"R2.6 a body that is no JSON reserves nothing", Refusals, []Step{
		{Request: Request{Body: `{"reference":"{ref}",`}, Want: Want{Problem: "body_invalid"}},
		{Request: Request{Body: `{"reference":"{ref}","sku":"A","sku":"B"}`}, Want: Want{Problem: "body_invalid"}},
		{Request: Request{Body: order}, Want: Want{Status: 201, Effects: 1}},
	}},
}

var errorCases = []Case{
	{"a handler's error is the framework's to answer, and is forgotten", Errors, []Step{
		{Name: "first", Request: Request{Body: do(Fail)}, Want: Want{Status: 418, Body: "failed"}},
		{Request: Request{Body: do(Fail)}, Want: Want{Status: 418, Body: "failed"}},
		{Request: Request{Body: order}, Want: Want{Status: 201, Effects: 1}},
	}},
	{"what failed once may run later", Errors, []Step{
		{Name: "first", Request: Request{Body: do(FailOnce)}, Want: Want{Status: 418, Body: "failed"}},
		{Request: Request{Body: do(FailOnce)}, Want: Want{Status: 201, Effects: 1}},
		{Request: Request{Body: do(FailOnce)}, Want: Want{Status: 201, Marker: Replayed, Effects: 1}},
	}},
	{"what a handler wrote before its error is neither answered nor recorded", Errors, []Step{
		{Name: "first", Request: Request{Body: do(WriteAndFail)}, Want: Want{
			Status: 418, Body: "failed", Header: map[string]string{"Location": "", "Etag": ""},
		}},
		{Request: Request{Body: order}, Want: Want{Status: 201, Effects: 1}},
	}},
}

var panicCases = []Case{
	{"R2.8 a panic is answered, and leaves nothing", Panics, []Step{
		{Name: "first", Request: Request{Body: do(PanicOnce)}, Want: Want{Problem: "internal"}},
		{Request: Request{Body: do(PanicOnce)}, Want: Want{Status: 201, Effects: 1}},
		{Request: Request{Body: do(PanicOnce)}, Want: Want{Status: 201, Marker: Replayed, Effects: 1}},
	}},
}

var hangUpCases = []Case{
	{"F03 R2.9 a caller who hangs up during the work leaves one effect, and the retry its answer", HungUp, []Step{
		{Act: Begin, Name: "first", Request: Request{Path: patient, Body: do(Hold)}, Want: Want{}},
		{Act: HangUp, Name: "first", Want: Want{Effects: -1}},
		{Act: Release, Want: Want{Effects: -1}},
		{Name: "retry", Request: Request{Path: patient, Body: do(Hold)}, Want: Want{Status: 201, Marker: Either, Effects: 1}},
		{Request: Request{Path: patient, Body: do(Hold)}, Want: Want{Status: 201, Marker: Replayed, Same: "retry", Effects: 1}},
	}},
	{"F03 the work notices, and may end", Noticed, []Step{
		{Act: Begin, Name: "first", Request: Request{Path: patient, Body: do(Heed)}, Want: Want{}},
		{Act: HangUp, Name: "first", Want: Want{Effects: -1}},
		{Act: Notice, Want: Want{}},
		{Name: "retry", Request: Request{Path: patient, Body: do(Heed)}, Want: Want{Status: 201, Effects: 1}},
	}},
}

var boundCases = []Case{
	{"a body that is too large is refused before anything is claimed", Bounds, []Step{
		{Request: Request{Body: order, Bytes: BodyBytesMax + 1}, Want: Want{Problem: "body_too_large"}},
		{Request: Request{Body: order, Bytes: BodyBytesMax + 1, Chunked: true}, Want: Want{Problem: "body_too_large"}},
		{Request: Request{Body: order, Bytes: BodyBytesMax}, Want: Want{Status: 201, Effects: 1}},
	}},
	{"F11 an answer too large to be kept is given once, and is not made again", Bounds, []Step{
		{Name: "first", Request: Request{Body: do(Large)}, Want: Want{Status: 201, Effects: 1, Header: map[string]string{"Location": "*"}}},
		{Request: Request{Body: do(Large)}, Want: Want{
			Problem: "answer_not_stored", Marker: Replayed, Effects: 1, Header: map[string]string{"Location": "{Location of first}"},
		}},
	}},
	{"F11 an answer too large to be held rolls back", Bounds, []Step{
		{Name: "first", Request: Request{Body: do(Huge)}, Want: Want{Problem: "answer_too_large"}},
		{Request: Request{Body: order}, Want: Want{Status: 201, Effects: 1}},
	}},
}

var headerCases = []Case{
	{"F10 a cookie is given to the first caller only", Headers, []Step{
		{Name: "first", Request: Request{Body: do(Session)}, Want: Want{
			Status: 201, Effects: 1, Header: map[string]string{"Set-Cookie": "*", "Cache-Control": "no-store"},
		}},
		{Request: Request{Body: do(Session)}, Want: Want{
			Status: 201, Marker: Replayed, Same: "first", Effects: 1, Header: map[string]string{"Set-Cookie": "", "Cache-Control": "no-store"},
		}},
	}},
	{"F10 the CORS fields of a replay are those of its own request, once", Headers, []Step{
		{Name: "first", Request: Request{Body: order, Header: map[string]string{"Origin": "https://a.example"}}, Want: Want{
			Status: 201, Effects: 1, Header: map[string]string{"Access-Control-Allow-Origin": "https://a.example", "Vary": "Origin"},
		}},
		{Request: Request{Body: order, Header: map[string]string{"Origin": "https://b.example"}}, Want: Want{
			Status: 201, Marker: Replayed, Same: "first", Effects: 1,
			Header: map[string]string{"Access-Control-Allow-Origin": "https://b.example", "Vary": "Origin"},
		}},
	}},
}

var safeCases = []Case{
	{"F22 a preflight needs neither credentials nor a key", SafeMethods, []Step{
		{Request: Request{Method: "OPTIONS", Caller: "nobody", Keys: NoKey, Header: map[string]string{
			"Origin": "https://a.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "idempotency-key",
		}}, Want: Want{Status: 204, Header: map[string]string{"Access-Control-Allow-Origin": "https://a.example", "Idempotency-Id": ""}}},
	}},
	{"F22 a safe method is not claimed", SafeMethods, []Step{
		{Request: Request{Method: "GET"}, Want: Want{Problem: "method_not_allowed", Header: map[string]string{"Idempotency-Id": ""}}},
		{Request: Request{Method: "HEAD"}, Want: Want{Status: 405, Header: map[string]string{"Idempotency-Id": ""}}},
		{Request: Request{Body: order}, Want: Want{Status: 201, Effects: 1}},
	}},
}

var contractCases = []Case{
	{"R2.11 B9 the contract names the operations", ContractRead, []Step{
		{Request: Request{Method: "GET", Path: contract, Caller: "nobody", Keys: NoKey}, Want: Want{
			Status: 200, Body: `"retentionSeconds"`, Header: map[string]string{"Content-Type": "application/json"},
		}},
		{Request: Request{Method: "OPTIONS", Path: contract, Caller: "nobody", Keys: NoKey}, Want: Want{Status: 204}},
	}},
}
