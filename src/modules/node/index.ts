// The public API of weir/node.

export { type MountHost, type MountNodeOptions, mountNode, type NodeHandler, type NodeNext } from './mount-node.ts'
export type { NodeUpgradeHandler } from './node-exchange.ts'
