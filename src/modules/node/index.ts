// The public API of weir/node.

export { type FetchEnvironment, type FetchHandler, type FetchResult, type MountFetchOptions, mountFetch } from './mount-fetch.ts'
export { type MountHost, type MountNodeOptions, mountNode, type NodeHandler, type NodeNext, type NodeUpgradeHandler } from './mount-node.ts'
