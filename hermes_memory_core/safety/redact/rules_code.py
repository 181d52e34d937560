"""Table: keys of code hosts, package registries, delivery, feature flags and monitoring."""

from __future__ import annotations

from hermes_memory_core.safety.redact.rules import ALNUM, B64, HEX, Rule

RULES: tuple[Rule, ...] = (
    Rule(
        "github-token",
        "GitHub personal, OAuth, user, server or refresh token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        certain=True,
    ),
    Rule("github-token", "GitHub fine-grained token", ("github_pat_",), certain=True),
    Rule(
        "gitlab-token",
        "GitLab personal, deploy, runner, job, feed, agent, OAuth or trigger token",
        (
            *("glpat-", "gldt-", "glrt-", "glcbt-", "glft-", "glimt-", "glagent-", "glptt-"),
            *("gloas-", "glsoat-", "glffct-", "glrtr-", "glwt-", "GR1348941"),
        ),
        r"[A-Za-z0-9_.-]{16,}",
    ),
    Rule(
        "bitbucket-token",
        "Bitbucket app password or access token",
        ("ATBB", "ATCTT3", "BBDC-"),
        B64,
    ),
    Rule("sourcegraph-token", "Sourcegraph token", ("sgp_", "slk_", "sgd_")),
    Rule("npm-token", "npm token", ("npm_",), ALNUM),
    Rule("pypi-token", "PyPI token", ("pypi-",), r"[A-Za-z0-9_-]{24,}"),
    Rule("rubygems-key", "RubyGems key", ("rubygems_",), HEX),
    Rule("crates-token", "crates.io token", ("cio",), r"[A-Za-z0-9]{30,}"),
    Rule("clojars-token", "Clojars token", ("CLOJARS_",)),
    Rule("nuget-key", "NuGet key", ("oy2",), r"[a-z0-9]{40,}"),
    Rule("docker-token", "Docker Hub token", ("dckr_pat_", "dckr_oat_"), certain=True),
    Rule("jfrog-key", "Artifactory key", ("AKCp", "cmVmd"), r"[A-Za-z0-9]{40,}"),
    Rule("jsr-token", "JSR token", ("jsrp_", "jsrd_"), ALNUM),
    Rule("circleci-token", "CircleCI token", ("CCIPAT_", "CCIPRJ_")),
    Rule("buildkite-token", "Buildkite token", ("bkua_", "bkct_")),
    Rule(
        "harness-token",
        "Harness token",
        ("pat.", "sat."),
        r"[\w-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}",
    ),
    Rule("octopus-key", "Octopus Deploy key", ("API-",), r"[A-Z0-9]{26,}"),
    Rule("sonar-token", "SonarQube token", ("squ_", "sqp_", "sqa_"), HEX),
    Rule("socket-token", "Socket token", ("sktsec_",)),
    Rule(
        "gitguardian-key",
        "GitGuardian or Infisical token",
        ("ggtt-", "st."),
        r"[A-Za-z0-9_.-]{24,}",
    ),
    Rule(
        "doppler-token",
        "Doppler token",
        ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
        r"(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{16,}",
        certain=True,
    ),
    Rule("vault-token", "HashiCorp Vault token", ("hvs.", "hvb.", "hvr."), certain=True),
    Rule("pulumi-token", "Pulumi token", ("pul-",), HEX),
    Rule("infracost-key", "Infracost key", ("ico-",)),
    Rule("prefect-key", "Prefect key", ("pnu_", "pnb_"), ALNUM),
    Rule("postman-key", "Postman key", ("PMAK-", "PMAT-"), certain=True),
    Rule("readme-key", "ReadMe key", ("rdme_",), certain=True),
    Rule("gitbook-token", "GitBook token", ("gb_api_",)),
    Rule(
        "launchdarkly-key",
        "LaunchDarkly key",
        ("sdk-", "api-", "mob-"),
        r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}",
        certain=True,
    ),
    Rule("statsig-key", "Statsig key", ("secret-", "console-")),
    Rule(
        "configcat-key",
        "ConfigCat key",
        ("configcat-sdk-1/",),
        r"[\w-]{22}/[\w-]{22}",
        certain=True,
    ),
    Rule(
        "grafana-token",
        "Grafana service account, cloud or API key",
        ("glsa_", "glc_", "eyJrIjoi"),
        B64,
    ),
    Rule(
        "new-relic-key",
        "New Relic key",
        ("NRAK-", "NRJS-", "NRII-", "NRAL-", "NRRA-", "NRBR-"),
        certain=True,
    ),
    Rule(
        "dynatrace-token", "Dynatrace token", ("dt0",), r"[a-z]\d\d\.[A-Z0-9]{20,}\.[A-Z0-9]{40,}"
    ),
    Rule("honeycomb-key", "Honeycomb key", ("hcaik_", "hcbik_", "hcxik_", "hcamk_")),
    Rule("sentry-token", "Sentry token", ("sntrys_", "sntryu_", "sntryi_"), B64),
    Rule("posthog-key", "PostHog personal key", ("phx_", "phs_")),
    Rule("logfire-token", "Logfire or Axiom token", ("pylf_v1_", "xaat-", "xapt-")),
    Rule(
        "trigger-key", "Trigger.dev or Inngest key", ("tr_prod_", "tr_dev_", "tr_pat_", "signkey-")
    ),
    Rule("tailscale-key", "Tailscale key", ("tskey-",), certain=True),
    Rule("netbird-token", "NetBird token", ("nbp_",)),
    Rule("cursor-key", "Cursor key", ("crsr_",), ALNUM),
)
