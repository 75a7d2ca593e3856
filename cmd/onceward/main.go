// Command onceward is the project's one binary: one file a verb.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// Exit codes: 0 is success.
const (
	exitFailed = 1
	exitUsage  = 2
)

// verbs is the command line.
type verbs struct {
	Demo    demo    `cmd:"" help:"Run the reference shop, to place an order with curl, send it again, and see one order."`
	Migrate migrate `cmd:"" help:"Bring a database's table of records to this version's schema, or look at it."`
	Version version `cmd:"" help:"Print the version of this binary."`
}

// streams are where a verb writes: what was asked for, and what is to be said about it.
type streams struct{ out, log io.Writer }

func main() { os.Exit(run(context.Background(), os.Args[1:], streams{os.Stdout, os.Stderr})) }

// run does what the arguments say and returns the exit code. A failure is one line.
func run(ctx context.Context, arguments []string, to streams) int {
	var selected verbs
	parser := kong.Must(&selected,
		kong.Name("onceward"),
		kong.Description("A write that was sent twice happens once."),
		kong.Writers(to.out, to.log),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(to),
	)
	parsed, err := parser.Parse(arguments)
	if err == nil {
		err = parsed.Run()
	}
	if err == nil {
		return 0
	}
	text, code := strings.Join(strings.Fields(err.Error()), " "), exitFailed // pgx's errors have several lines
	if usage := (*kong.ParseError)(nil); errors.As(err, &usage) {
		about := "onceward"
		if node := usage.Context.Selected(); node != nil {
			about = node.FullPath()
		}
		text, code = text+" ("+about+" --help tells more)", exitUsage
	}
	_, _ = fmt.Fprintln(to.log, "onceward:", text)
	return code
}
