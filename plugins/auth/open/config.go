package open

// Config is the `auth: open:` section of broker.yaml. There is nothing to set.
type Config struct{}
