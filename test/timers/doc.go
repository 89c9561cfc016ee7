// Package timers measures how precisely messages come that wait for times of their own, and what a million of them that wait cost a running broker.
package timers
