package features

import (
	"fmt"
	"slices"
	"strings"
)

// page is a text with a table between two markers.
type page struct {
	before, after string
	columns       []string
	rows          []string
	cells         map[string]map[string]string // by column and row
}

func marker(table, what string) string { return "<!-- " + table + ": " + what + " -->\n" }

// parse finds the table of a name. What is between the markers and is no table is taken for an empty one.
func parse(text, table string) (*page, error) {
	begin, end := marker(table, "written by make features"), marker(table, "end")
	before, rest, found := strings.Cut(text, begin)
	body, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return nil, fmt.Errorf("the page lacks the markers %q and %q", begin, end)
	}
	p := &page{before: before + begin, after: end + after, cells: map[string]map[string]string{}}
	for i, line := range strings.Split(strings.TrimSpace(body), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for j := range cells {
			cells[j] = strings.Trim(cells[j], " `")
		}
		switch i {
		case 0:
			p.columns = cells[1:]
		case 1: // the rule
		default:
			p.rows = append(p.rows, cells[0])
			for j, column := range p.columns[:min(len(p.columns), len(cells)-1)] {
				p.put(column, cells[0], cells[j+1])
			}
		}
	}
	return p, nil
}

func (p *page) put(column, row, cell string) {
	if p.cells[column] == nil {
		p.cells[column] = map[string]string{}
	}
	p.cells[column][row] = cell
}

func cellOf(r row) string {
	if r.has {
		return "yes"
	}
	return "–"
}

// says reports whether the table has these rows, and this in the column.
func (p *page) says(column string, rows []row) bool {
	if !slices.Contains(p.columns, column) || len(p.rows) != len(rows) {
		return false
	}
	for i, r := range rows {
		if p.rows[i] != r.name || p.cells[column][r.name] != cellOf(r) {
			return false
		}
	}
	return true
}

// set makes the table have these rows, and this in the column. What it does not know of other columns is "?", until
// their suites have run.
func (p *page) set(column string, rows []row) {
	if !slices.Contains(p.columns, column) {
		p.columns = append(p.columns, column)
	}
	p.rows = nil
	for _, r := range rows {
		p.rows = append(p.rows, r.name)
		p.put(column, r.name, cellOf(r))
	}
}

// String is the whole text.
func (p *page) String() string {
	var b strings.Builder
	b.WriteString(p.before)
	b.WriteString("| |")
	for _, column := range p.columns {
		b.WriteString(" `" + column + "` |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(p.columns)) + "\n")
	for _, row := range p.rows {
		b.WriteString("| " + row + " |")
		for _, column := range p.columns {
			cell := p.cells[column][row]
			if cell == "" {
				cell = "?"
			}
			b.WriteString(" " + cell + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString(p.after)
	return b.String()
}
