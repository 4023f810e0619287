// Package pairings tests Brine's programs together with those of an installed Salt: trees of a master, a
// lower master and its syndic, each of either maker, and minions that fail over between two masters. It
// contains only tests.
//
// BRINE_TEST_SALT names the Salt, as the option python_salt does. Trees of Salt alone are the control:
// they show what Salt itself does in the same steps. The test prints a table of all trees and steps.
package pairings
