// The public API of weirjs/webhooks.

export { type WebhookOptions, webhook } from './webhook.ts'
