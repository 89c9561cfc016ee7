// Package suite runs RocketMQ's own integration tests, as they are published for 4.9.7, on two weir brokers in one cluster.
//
//	make interop-suite                                     # all of them
//	make interop-suite SUITE='-only SqlFilterIT,TLS_IT'    # some
//	make interop-suite SUITE='-java'                       # on weir, then on Java's own cluster, and both times beside each other
//
// The test classes come from Maven Central and run unchanged, each class in a JVM of its own. Only their base class is ours
// (test/interop/java/src/suite): where theirs starts brokers in the tests' JVM, ours makes topics and groups on the cluster
// that is up. classes.txt lists the classes with the number of their tests, so that a test that isn't run is missed, and the
// time that they took on Java's cluster. expected_failures.txt lists what weir can't do yet: a test in it that passes is a
// failure, too, until it is taken out.
package suite
