// Package bench measures onceward against what a service would do without it: the caller's own transaction.
//
// Figures of one machine and one moment say little; the ratio of two sides that were measured in turn, round after round
// in one run, says what onceward costs. The program bench/gates holds such ratios against what the project promises.
package bench
