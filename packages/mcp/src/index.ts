// The public API of @weirjs/mcp.

export { type McpOptions, mcp } from './mcp.ts'
