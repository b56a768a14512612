// The public API of weir/node.

export { type MountHost, type MountNodeOptions, mountNode, type NodeHandler, type NodeNext, type NodeUpgradeHandler } from './mount-node.ts'
