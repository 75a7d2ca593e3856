// Package examples holds the code of docs/guide.md, one pattern a file, as examples that run. The guide shows each file from
// its first declaration on, and what the example prints; a test keeps the two the same.
package examples
