/// <reference types="svelte" />
/// <reference types="vite/client" />

/** The release that the page was built for. */
declare const __RELEASE__: string;
