package main

import (
	"fmt"
	"runtime/debug"
)

// version is the verb that prints what was built: the module's version, or the commit of a build from a clone.
type version struct{}

// Run prints one line.
func (version) Run(to streams) error {
	_, err := fmt.Fprintln(to.out, describe())
	return err
}

func describe() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "onceward (built without module information)"
	}
	text := "onceward " + info.Main.Version
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			text += " " + setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			text += " (modified)"
		}
	}
	return text + " " + info.GoVersion
}
