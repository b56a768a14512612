import DefaultTheme from 'vitepress/theme'
import { h } from 'vue'

import Hero from '../../hero.md'
import './style.css'

/** The first screen shows a program and what it does with a wrong request. */
const Layout = () => h(DefaultTheme.Layout, null, { 'home-hero-image': () => h('div', { class: 'vp-doc hero-program' }, [h(Hero)]) })

export default { extends: DefaultTheme, Layout }
