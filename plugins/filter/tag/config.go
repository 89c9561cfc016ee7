package tag

// Config is the `filters: tag:` section of broker.yaml. There is nothing to set: tags mean what they mean to RocketMQ.
type Config struct{}
