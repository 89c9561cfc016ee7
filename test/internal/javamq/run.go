package javamq

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/weirmq/weir/test/internal/proc"
)

// Program is a Java program to run with a set of jars.
type Program struct {
	Jars  *Jars
	Home  string   // directory for its configuration and logs, also its user.home; required
	Name  string   // names its log: HOME/NAME.out
	JVM   []string // more flags for the JVM
	Main  string   // class
	Args  []string
	Env   []string
	Lines func(line []byte) bool // see proc.Spec.OnLine
}

// QuickStart are JVM flags that make a test's short-lived JVM start sooner and spend less; not for measuring.
var QuickStart = []string{"-XX:TieredStopAtLevel=1", "-Xshare:auto"}

// Start runs the program. Its RocketMQ logs go to HOME/logs, nothing is left elsewhere.
func (p Program) Start() (*proc.Process, error) {
	home, err := filepath.Abs(p.Home)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Main, err)
	}
	if err := writeHome(home, p.Name, p.Jars.Set); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Main, err)
	}
	return proc.Start(proc.Spec{
		Path:   "java",
		Args:   append(p.flags(home), p.Args...),
		Env:    append([]string{"ROCKETMQ_HOME=" + home}, p.Env...),
		Dir:    home,
		Log:    filepath.Join(home, p.Name+".out"),
		OnLine: p.Lines,
	})
}

// Command is the program as a command whose input and output the caller sets.
func (p Program) Command(ctx context.Context) (*exec.Cmd, error) {
	home, err := filepath.Abs(p.Home)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", p.Main, err)
	}
	if err := writeHome(home, p.Name, p.Jars.Set); err != nil {
		return nil, fmt.Errorf("run %s: %w", p.Main, err)
	}
	cmd := exec.CommandContext(ctx, "java", append(p.flags(home), p.Args...)...)
	cmd.Env = append(append(os.Environ(), "ROCKETMQ_HOME="+home), p.Env...)
	return cmd, nil
}

// flags ends with the class. The opened packages are those through which the store unmaps its buffers.
func (p Program) flags(home string) []string {
	logback := filepath.Join(home, "conf", "logback.xml")
	flags := []string{
		"-Xms32m", "-Xmx512m", "-XX:MaxDirectMemorySize=512m", "-XX:+UseSerialGC", "-XX:-UsePerfData",
		"--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
		"--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED", "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
		"--add-opens=java.base/java.lang=ALL-UNNAMED", "--add-opens=java.base/java.util=ALL-UNNAMED",
		"-Duser.home=" + home, "-Drocketmq.home.dir=" + home,
		"-Dlogback.configurationFile=" + logback, "-Drmq.logback.configurationFile=" + logback,
		"-Drocketmq.client.logUseSlf4j=true",
		"-Drocketmq.broker.diskSpaceWarningLevelRatio=0.99", "-Drocketmq.broker.diskSpaceCleanForciblyRatio=0.98",
	}
	flags = append(flags, p.JVM...)
	return append(flags, "-cp", p.Jars.ClassPath(), p.Main)
}

// writeHome writes what RocketMQ's programs insist on finding: logging and an ACL file. 5.x has logback in a package
// of its own.
func writeHome(home, name, set string) error {
	conf := filepath.Join(home, "conf")
	if err := os.MkdirAll(conf, 0o755); err != nil {
		return err
	}
	shade := "org.apache.rocketmq.logging."
	if strings.HasPrefix(set, "4.") {
		shade = ""
	}
	logback := fmt.Sprintf(`<configuration>
  <appender name="FILE" class="%sch.qos.logback.core.FileAppender">
    <file>%s/logs/%s.log</file>
    <encoder><pattern>%%d{HH:mm:ss.SSS} %%-5level %%logger{24} - %%msg%%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="FILE"/></root>
</configuration>
`, shade, home, name)
	files := map[string]string{"plain_acl.yml": "accounts: []\n", "logback.xml": logback}
	for _, part := range []string{"broker", "namesrv", "tools"} {
		files["logback_"+part+".xml"] = logback
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(conf, file), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// serve starts a server and waits until it has printed that it booted.
func serve(ctx context.Context, p Program) (*proc.Process, error) {
	booted := proc.NewAwait("boot success")
	p.Lines = booted.Line
	process, err := p.Start()
	if err != nil {
		return nil, err
	}
	if _, err := booted.Wait(ctx, process); err != nil {
		process.Kill()
		return nil, err
	}
	return process, nil
}
