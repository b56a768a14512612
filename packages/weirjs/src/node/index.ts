// The public API of weirjs/node.

export { type FetchEnvironment, type FetchHandler, type MountFetchOptions, mountFetch } from './mount-fetch.ts'
export { type MountNodeOptions, mountNode, type NodeHandler, type NodeNext } from './mount-node.ts'
export type { NodeUpgradeHandler } from './node-exchange.ts'
export { type NodeListener, toNodeListener } from './node-listener.ts'
export { toNodeServer } from './to-node-server.ts'
