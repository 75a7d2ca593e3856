package fingerprint

import (
	"bytes"
	"errors"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"strings"
	"testing"
)

const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)

func sameRequests(t *testing.T, requests ...*Request) {
	t.Helper()
	want := canonical(t, requests[0])
	for _, r := range requests[1:] {
		if canonical(t, r) != want {
			t.Errorf("differ:\n%+v\n%+v", requests[0], r)
		}
	}
}

func differentRequests(t *testing.T, requests ...*Request) {
	t.Helper()
	var all []Meaning
	for _, r := range requests {
		all = append(all, r)
	}
	allDiffer(t, all)
}

func TestF18_EveryPartOfARequestCounts(t *testing.T) {
	t.Parallel()
	body := []byte(`{"a":1}`)
	differentRequests(
		t,
		&Request{},
		&Request{Method: "POST"},
		&Request{Method: "PUT"},
		&Request{Method: "post"},
		&Request{Operation: "POST"},
		&Request{Operation: "create-order.v1"},
		&Request{Operation: "create-order.v2"},
		&Request{PathValues: []string{"id", "7"}},
		&Request{PathValues: []string{"id", "8"}},
		&Request{PathValues: []string{"i", "d7"}},
		&Request{PathValues: []string{"id7", ""}},
		&Request{PathValues: []string{"id", "7", "", ""}},
		&Request{RawQuery: "dry=1"},
		&Request{RawQuery: "dry=0"},
		&Request{RawQuery: "dry=1&dry=0"},
		&Request{RawQuery: "dry=0&dry=1"}, // the order of one name's values
		&Request{RawQuery: "dry"},
		&Request{RawQuery: "DRY"},
		&Request{RawQuery: "dry%3D1"},
		&Request{RawQuery: "dry=1;x=2"},
		&Request{Body: []byte("dry=1")},
		&Request{Body: []byte("dry=1"), ContentType: formType},
		&Request{Body: body},
		&Request{Body: body, ContentType: jsonType},
		&Request{Body: body, ContentType: "application/merge-patch+json"},
		&Request{Body: body, ContentType: "text/plain"},
		&Request{Body: body, ContentType: "text/plain; charset=utf-8"},
		&Request{Body: body, ContentType: "text/plain; charset=latin1"},
		&Request{Body: body, ContentType: "text/plain; charset"},
		&Request{Body: body, ContentType: "no type"},
		&Request{Body: []byte("null"), ContentType: jsonType},
	)
}

func TestF18_QueryByItsPairs(t *testing.T) {
	t.Parallel()
	sameRequests(
		t,
		&Request{RawQuery: "a=1&b=x+y&a=2&c="},
		&Request{RawQuery: "b=x%20y&c&a=%31&a=2"},
		&Request{RawQuery: "&&c=&a=1&%61=2&&b=x+y&"},
	)
	sameRequests(t, &Request{}, &Request{RawQuery: "&"}, &Request{RawQuery: "&&&"})
	sameRequests(t, &Request{RawQuery: "%ff=%0a"}, &Request{RawQuery: "%FF=%0A"})
	differentRequests(
		t,
		&Request{RawQuery: "ab=c"}, &Request{RawQuery: "a=bc"}, &Request{RawQuery: "a&bc"}, &Request{RawQuery: "a=b&c"}, &Request{RawQuery: "="},
		&Request{RawQuery: "a=b%26c"}, &Request{RawQuery: "a=b=c"}, &Request{RawQuery: "a=b%2Bc"}, &Request{RawQuery: "a=b+c"},
	)
}

func TestF14_BodyByItsType(t *testing.T) {
	t.Parallel()
	one, other := []byte(`{"a":1,"b":2}`), []byte("{ \"b\":2.0, \"a\":1}\n")
	sameRequests(
		t,
		&Request{ContentType: "application/json", Body: one},
		&Request{ContentType: "Application/JSON", Body: other},
		&Request{ContentType: "application/json; charset=utf-8", Body: other},
		&Request{ContentType: `application/json;charset="UTF-8" ; x=y`, Body: one},
		&Request{ContentType: `application/json; charset`, Body: one}, // parameters need not be readable
	)
	sameRequests(
		t,
		&Request{ContentType: "application/vnd.shop.order+json", Body: one},
		&Request{ContentType: "application/vnd.Shop.Order+JSON; v=1", Body: other},
	)
	sameRequests(
		t,
		&Request{ContentType: formType, Body: []byte("a=1&b=2")},
		&Request{ContentType: formType + "; charset=UTF-8", Body: []byte("b=2&a=%31")},
	)
	sameRequests(
		t,
		&Request{ContentType: `text/CSV; Header=present; charset="UTF-8"`, Body: one},
		&Request{ContentType: `text/csv;charset=utf-8;header=present`, Body: one},
	)
	for _, contentType := range []string{"", "text/plain", "application/octet-stream", "application/json-seq", "multipart/mixed; boundary=x", "application/json, text/plain"} {
		differentRequests(t, &Request{ContentType: contentType, Body: one}, &Request{ContentType: contentType, Body: other})
	}
}

func TestNoBodyIsLegalWhateverItsType(t *testing.T) {
	t.Parallel()
	sameRequests(
		t,
		&Request{Method: "POST"},
		&Request{Method: "POST", ContentType: jsonType},
		&Request{Method: "POST", ContentType: formType, Body: []byte{}},
		&Request{Method: "POST", ContentType: "multipart/form-data"},
		&Request{Method: "POST", ContentType: "text/plain"},
	)
	blank := &Request{ContentType: jsonType, Body: []byte(" ")}
	if _, err := Of(blank); !errors.Is(err, ErrMalformed) {
		t.Errorf("a blank JSON body: %v", err)
	}
}

func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	const mixed = "multipart/form-data; boundary=b"
	for _, tt := range []struct {
		request *Request
		part    string
		offset  int
	}{
		{&Request{RawQuery: "a=1&b=%"}, "query", 6},
		{&Request{RawQuery: "a=1&%4=%41"}, "query", 4},
		{&Request{RawQuery: "a%4g"}, "query", 1},
		{&Request{ContentType: formType, Body: []byte("a=%zz")}, "form", 2},
		{&Request{ContentType: formType, Body: []byte("a=%4&1")}, "form", 2},
		{&Request{ContentType: jsonType, Body: []byte(`{"a":1,"a":1}`)}, "json", 7},
		{&Request{ContentType: "application/problem+json", Body: []byte(`{`)}, "json", 1},
		{&Request{ContentType: "multipart/form-data", Body: []byte(`x`)}, "content type", 0},
		{&Request{ContentType: mixed, Body: []byte("no boundary")}, "multipart", 11},
		{&Request{ContentType: mixed, Body: []byte("--b\r\nContent-Type: x\r\n\r\ncut short")}, "multipart", 0},
		{&Request{ContentType: mixed, Body: []byte("--b\r\nA: 1\r\n\r\nx\r\n--b\r\nno colon\r\n\r\ny\r\n--b--")}, "multipart", 16},
	} {
		_, err := Of(tt.request)
		var e *Error
		if !errors.As(err, &e) || e.Part != tt.part || e.Offset != tt.offset {
			t.Errorf("%+v\n got %v, want %s at %d", tt.request, err, tt.part, tt.offset)
		}
	}
}

func header(fields map[string][]string) func(string) []string {
	return func(name string) []string { return fields[name] }
}

func TestNamedHeadersCount(t *testing.T) {
	t.Parallel()
	rules := []Rule{{Headers: []string{"X-Tenant", "If-Match"}}}
	fields := func(tenant, match []string) *Request {
		return &Request{Rules: rules, Header: header(map[string][]string{"x-tenant": tenant, "if-match": match})}
	}
	differentRequests(
		t,
		fields(nil, nil),
		fields([]string{""}, nil),
		fields(nil, []string{""}),
		fields([]string{"a"}, nil),
		fields([]string{"A"}, nil),
		fields(nil, []string{"a"}),
		fields([]string{"a", "b"}, nil),
		fields([]string{"b", "a"}, nil),
		fields([]string{"ab"}, nil),
		fields([]string{"a"}, []string{"b"}),
		&Request{},
	)
	sameRequests(
		t,
		fields([]string{"a"}, nil),
		&Request{
			Rules:  []Rule{{Headers: []string{"if-match", "x-tenant", "IF-MATCH"}}},
			Header: header(map[string][]string{"x-tenant": {"a"}, "date": {"today"}}),
		},
	)
	sameRequests(t, fields(nil, nil), &Request{Rules: rules})
}

func TestF18_OldRecordsAreVerifiedByTheirOwnRule(t *testing.T) {
	t.Parallel()
	rule1 := Rule{Version: 1, Headers: []string{"X-Channel"}}
	rule2 := Rule{Version: 2, Ignore: []string{"/sentAt"}}
	request := func(body, channel string, rules ...Rule) *Request {
		return &Request{
			Method: "POST", Operation: "create-order.v1", ContentType: jsonType, Body: []byte(body), Rules: rules,
			Header: header(map[string][]string{"x-channel": {channel}}),
		}
	}
	stored, err := Of(request(`{"n":1,"sentAt":"10:00"}`, "web", rule1))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		body, channel string
		want          bool
	}{
		{`{"n":1,"sentAt":"10:00"}`, "web", true},
		{`{"sentAt":"10:00","n":1.0}`, "web", true},
		{`{"n":1,"sentAt":"10:01"}`, "web", false}, // counts under rule 1
		{`{"n":1,"sentAt":"10:00"}`, "app", false}, // counts under rule 1
		{`{"n":2,"sentAt":"10:00"}`, "web", false},
	} {
		same, err := stored.Same(request(tt.body, tt.channel, rule2, rule1))
		if err != nil || same != tt.want {
			t.Errorf("%s by %s: %v, %v", tt.body, tt.channel, same, err)
		}
	}
	if same, err := stored.Same(request(`{"n":1,"sentAt":"10:00"}`, "web", rule2)); same || !errors.Is(err, ErrVersion) {
		t.Errorf("the old rule is gone: %v, %v", same, err)
	}
	fresh, err := Of(request(`{"n":1,"sentAt":"10:00"}`, "web", rule2, rule1))
	if err != nil || fresh.Version != versionOf(2) {
		t.Fatal(fresh.Version, err)
	}
	if same, err := fresh.Same(request(`{"n":1,"sentAt":"10:01"}`, "app", rule2, rule1)); err != nil || !same {
		t.Errorf("the new rule ignores sentAt and the channel: %v, %v", same, err)
	}
}

func TestIgnoreTouchesJSONOnly(t *testing.T) {
	t.Parallel()
	rules := []Rule{{Ignore: []string{"/a"}}}
	differentRequests(
		t,
		&Request{Rules: rules, ContentType: formType, Body: []byte("a=1")},
		&Request{Rules: rules, ContentType: formType, Body: []byte("a=2")},
		&Request{Rules: rules, ContentType: "text/plain", Body: []byte(`{"a":1}`)},
		&Request{Rules: rules, ContentType: "text/plain", Body: []byte(`{"a":2}`)},
	)
}

type formPart struct {
	header  textproto.MIMEHeader
	content string
}

func field(disposition, contentType, content string) formPart {
	h := textproto.MIMEHeader{"Content-Disposition": {disposition}}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	return formPart{h, content}
}

func multipartRequest(t testing.TB, boundary string, parts ...formPart) *Request {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.SetBoundary(boundary); err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		pw, err := w.CreatePart(part.header)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(pw, part.content)
	}
	w.Close()
	return &Request{ContentType: w.FormDataContentType(), Body: b.Bytes()}
}

func TestF14_MultipartByItsParts(t *testing.T) {
	t.Parallel()
	note := field(`form-data; name="note"`, "", "hi\r\n")
	file := field(`form-data; name="file"; filename="a.txt"`, "text/plain", "--data")
	first := multipartRequest(t, "one", note, file)
	extra := field(`form-data; filename=a.txt;name=file`, "TEXT/plain", "--data")
	extra.header.Set("X-Trace", "17")
	preamble := multipartRequest(t, "three", note, file)
	preamble.Body = append([]byte("to be skipped\r\n"), append(preamble.Body, "\r\nand this"...)...)
	sameRequests(t, first, multipartRequest(t, "another-boundary", note, file), multipartRequest(t, "b", note, extra), preamble)

	encoded := field(`form-data; name="note"`, "", "hi\r\n")
	encoded.header.Set("Content-Transfer-Encoding", "quoted-printable")
	differentRequests(
		t,
		first,
		multipartRequest(t, "one", file, note),
		multipartRequest(t, "one", note),
		multipartRequest(t, "one", note, file, file),
		multipartRequest(t, "one", encoded, file),
		multipartRequest(t, "one", field(`form-data; name="note"`, "", "hi\n"), file),
		multipartRequest(t, "one", field(`form-data; name="Note"`, "", "hi\r\n"), file),
		multipartRequest(t, "one", field(`form-data; name="note"`, "text/plain", "hi\r\n"), file),
		multipartRequest(t, "one", field(`form-data; name="note"; filename=""`, "", "hi\r\n"), file),
		multipartRequest(t, "one", note, field(`form-data; name="file"; filename="b.txt"`, "text/plain", "--data")),
		multipartRequest(t, "one", note, field(`form-data; name="file"; filename="a.txt"`, "text/html", "--data")),
		multipartRequest(t, "one", note, field(`form-data; name="file"; filename="a.txt"`, "text/plain", "--date")),
		&Request{ContentType: "multipart/form-data; boundary=one", Body: []byte("--one--\r\n")},
	)
}

func FuzzForm(f *testing.F) {
	for _, in := range []string{"", "a=1&b=2&a=3", "a+b=%20&%3D=%26", "&&", "=", "a", "%", "a=%4", "%ff=\xff", "a;b=c", "é=1"} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r := &Request{RawQuery: in}
		digest, err := r.Canonical(r.Current())
		values, stdErr := url.ParseQuery(in)
		if strings.Contains(in, ";") || strings.Count(in, "&") > 1000 {
			return // net/url has rules of its own for these
		}
		if (err == nil) != (stdErr == nil) {
			t.Fatalf("%q: here %v, in net/url %v", in, err, stdErr)
		}
		if err == nil && canonical(t, &Request{RawQuery: values.Encode()}) != digest {
			t.Fatalf("%q differs from %q", in, values.Encode())
		}
	})
}

func FuzzMultipart(f *testing.F) {
	f.Add("note", "hi", "file", "a.txt", "data", "", "--x--")
	f.Add("", "", "", "", "\r\n--one\r\n", "one", "--one\r\nA: b\r\n\r\nc\r\n--one--")
	f.Add("a\"b", "é", "\\", "\r\n", "--two--", "two", "preamble\r\n--two\r\n\r\n\r\n--two--epilogue")
	f.Fuzz(func(t *testing.T, name1, value1, name2, filename, content, boundary, body string) {
		junk := &Request{ContentType: "multipart/form-data; boundary=\"" + boundary + "\"", Body: []byte(body)}
		if _, err := Of(junk); err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatalf("%q: %v", body, err)
		}
		build := func(boundary, content string) *Request {
			var b bytes.Buffer
			w := multipart.NewWriter(&b)
			if err := w.SetBoundary(boundary); err != nil {
				t.Fatal(err)
			}
			w.WriteField(name1, value1)
			pw, err := w.CreateFormFile(name2, filename)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(pw, content)
			w.Close()
			return &Request{ContentType: w.FormDataContentType(), Body: b.Bytes()}
		}
		const one, two = "one-boundary-that-is-not-in-it", "another-that-is-not-in-it"
		if strings.Contains(value1+content, "-boundary-that-") || strings.Contains(value1+content, "another-that-") {
			return
		}
		a, errA := Of(build(one, content))
		b, errB := Of(build(two, content))
		if (errA == nil) != (errB == nil) || a.Canonical != b.Canonical {
			t.Fatalf("the boundary counts: %v, %v", errA, errB)
		}
		if c, err := Of(build(one, content+"x")); errA == nil && (err != nil || c.Canonical == a.Canonical) {
			t.Fatalf("the content does not count: %v", err)
		}
	})
}
