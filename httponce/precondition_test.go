package httponce_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/onceward/onceward/httponce"
)

func TestR3_4_IfMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines  []string
		etag   string
		status int // 0: the request may
	}{
		{nil, `"3"`, 0},
		{nil, "", 0},
		{[]string{`"3"`}, `"3"`, 0},
		{[]string{`"2"`}, `"3"`, 412},
		{[]string{`"3"`}, "", 412},
		{[]string{`"1", "2" ,"3"`}, `"3"`, 0},
		{[]string{`"1"`, `"3"`}, `"3"`, 0},
		{[]string{` ,"1",, "3", `}, `"3"`, 0},
		{[]string{"*"}, `"3"`, 0},
		{[]string{" * "}, `"3"`, 0},
		{[]string{"*"}, "", 412},
		{[]string{`W/"3"`}, `"3"`, 412},
		{[]string{`W/"3"`}, `W/"3"`, 412},
		{[]string{`W/"1", "3"`}, `"3"`, 0},
		{[]string{`""`}, `""`, 0},
		{[]string{`"a,b"`}, `"a,b"`, 0},
		{[]string{`"ä"`}, `"ä"`, 0},
		{[]string{`3`}, `"3"`, 400},
		{[]string{`"3`}, `"3"`, 400},
		{[]string{`"3" "4"`}, `"3"`, 400},
		{[]string{`"3 4"`}, `"3 4"`, 400},
		{[]string{`w/"3"`}, `"3"`, 400},
		{[]string{`*, "3"`}, `"3"`, 400},
		{[]string{""}, `"3"`, 400},
		{[]string{","}, `"3"`, 400},
		{[]string{"\"\x7f\""}, `"3"`, 400},
	} {
		err := httponce.IfMatch(&http.Request{Header: http.Header{"If-Match": c.lines}}, c.etag)
		answer := (*httponce.Answer)(nil)
		switch {
		case c.status == 0 && err != nil:
			t.Errorf("%q of %s: %v", c.lines, c.etag, err)
		case c.status != 0 && (!errors.As(err, &answer) || answer.Status != c.status):
			t.Errorf("%q of %s: %v, want %d", c.lines, c.etag, err, c.status)
		}
	}
}

func FuzzIfMatch(f *testing.F) {
	f.Add(`"1", W/"2",*`)
	f.Fuzz(func(t *testing.T, line string) {
		r := &http.Request{Header: http.Header{"If-Match": {line, `"the present one"`}}}
		answer := (*httponce.Answer)(nil)
		if err := httponce.IfMatch(r, `"the present one"`); err != nil && (!errors.As(err, &answer) || answer.Status != 400 && answer.Status != 412) {
			t.Errorf("%q: %v", line, err)
		}
	})
}
