package oncetest

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
)

// row is what came of the death at one point.
type row struct {
	point        string
	retry, third answer
	effects      int // of the whole run
}

func (r row) ok() bool {
	return r.effects == 1 && r.retry.success() && r.third.status == r.retry.status
}

// String is an answer's cell.
func (a answer) String() string {
	switch {
	case a.status == 0:
		return "not at all"
	case a.header.Get("Idempotent-Replayed") == "true":
		return strconv.Itoa(a.status) + " replayed"
	}
	return strconv.Itoa(a.status)
}

// matrix writes rows one a line.
func matrix(rows []row) string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "killed\tretry\tthird\teffects\t")
	for _, r := range rows {
		verdict := "ok"
		if !r.ok() {
			verdict = "FAIL"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\n", r.point, r.retry, r.third, r.effects, verdict)
	}
	_ = table.Flush()
	return text.String()
}
