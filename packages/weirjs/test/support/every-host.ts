import { HostRules } from '../../src/net/hosts/host-rules.ts'

/** For servers whose clients are in memory: no endpoint accepts them. */
export const EVERY_HOST = new HostRules({ hosts: 'any', proxyHosts: null, warn: () => {} })
